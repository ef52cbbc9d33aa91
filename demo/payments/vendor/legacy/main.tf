resource "terraform_data" "queue" {
  input = {
    kind    = "queue"
    name    = "payments-queue"
    size    = "small"
    disk_gb = 10
    tags    = { owner = "team-payments" }
  }
}
