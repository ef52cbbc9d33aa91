resource "terraform_data" "subnet" {
  input = {
    kind    = "subnet"
    name    = "payments-subnet"
    size    = "small"
    disk_gb = 0
    tags    = { owner = "team-network" }
  }
}
