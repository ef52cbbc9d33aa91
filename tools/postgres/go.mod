module github.com/assize-iac/assize/tools/postgres

go 1.26.0
