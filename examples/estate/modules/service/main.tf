# A service with a task in each zone.

variable "name" { type = string }
variable "image" { type = string }
variable "size" { type = string }
variable "subnets" { type = map(object({ id = string, cidr = string })) }

module "task" {
  source   = "../task"
  for_each = var.subnets

  name    = "${var.name}-${each.key}"
  image   = var.image
  size    = var.size
  subnet  = each.value.id
  address = cidrhost(each.value.cidr, 10)
}

output "addresses" {
  value = [for task in module.task : task.address]
}
