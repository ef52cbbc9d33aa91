terraform {
  backend "local" {}
}

variable "name" { type = string }

data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../../states/stacks/net-.tfstate" }
}

resource "terraform_data" "one" {
  input = { name = var.name, above = data.terraform_remote_state.net.outputs.id }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.one >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.one >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.one >>$JOURNAL; sleep 0.03"
  }
}

resource "terraform_data" "two" {
  input = { name = var.name, above = terraform_data.one.id }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.two >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.two >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.two >>$JOURNAL; sleep 0.03"
  }
}

output "id" { value = terraform_data.two.id }
