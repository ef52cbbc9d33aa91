module github.com/assize-iac/assize/tools/gotest

go 1.26.0
