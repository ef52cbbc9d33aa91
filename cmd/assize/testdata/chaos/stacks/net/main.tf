terraform {
  backend "local" {}
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

# Its provider is a process of its own, which can be killed.
resource "local_file" "made" {
  filename = "${path.module}/../../made"
  content  = "made"
}

resource "terraform_data" "one" {
  input = { name = "net", above = "nothing" }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.one >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.one >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.one >>$JOURNAL; sleep 0.03"
  }
}

resource "terraform_data" "two" {
  input = { name = "net", above = terraform_data.one.id }

  provisioner "local-exec" {
    command = "echo begin ${self.input.name}.two >>$JOURNAL; sleep 0.03; echo end ${self.input.name}.two >>$JOURNAL"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo unmake ${self.input.name}.two >>$JOURNAL; sleep 0.03"
  }
}

output "id" { value = terraform_data.two.id }
