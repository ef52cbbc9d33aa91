terraform {
  backend "local" {}
}

data "terraform_remote_state" "zone" {
  for_each = toset(["blue", "green"])
  backend  = "local"
  config   = { path = "../../states/stacks/zone-${each.key}.tfstate" }
}

resource "terraform_data" "one" {
  input = { name = "app", above = [for z in data.terraform_remote_state.zone : z.outputs.id] }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.one >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.one >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.one >>$JOURNAL; sleep 0.03"
  }
}

resource "terraform_data" "two" {
  input = { name = "app", above = terraform_data.one.id }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.two >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.two >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.two >>$JOURNAL; sleep 0.03"
  }
}

output "id" { value = terraform_data.two.id }
