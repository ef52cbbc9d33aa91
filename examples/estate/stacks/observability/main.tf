# Asks the shop, by its public names, whether it is there. It reads nobody's
# state, so .assize.yaml has to say what it comes after.

terraform {
  backend "local" {}
}

resource "terraform_data" "probe" {
  for_each = toset(["www", "preview"])
  input = {
    url   = "https://${each.key}.teahouse.example"
    every = "1m"
    owner = "team-platform"
  }
}
