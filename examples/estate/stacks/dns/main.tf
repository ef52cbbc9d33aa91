# The names that the world knows. Nobody outside needs dev.

terraform {
  backend "local" {}
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

locals {
  names = {
    prod    = "www"
    staging = "preview"
  }
}

data "terraform_remote_state" "service" {
  for_each = toset(["prod", "staging"])
  backend  = "local"
  config   = { path = "../../.cloud/state/service/${each.key}/terraform.tfstate" }
}

resource "local_file" "zone" {
  filename        = "../../.cloud/teahouse.example.zone"
  file_permission = "0644"
  content = join("", flatten([
    for environment, service in data.terraform_remote_state.service : [
      for address in service.outputs.addresses : "${local.names[environment]} A ${address}\n"
    ]
  ]))
}
