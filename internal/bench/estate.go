package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// layers is how deep a generated monorepo is: what is in one depends on the one
// before, so that there are as many waves.
const layers = 10

// An estate is a generated monorepo, the same for the same number of stacks. A
// tenth as many modules are in it, and four times as many edges: a directory of
// the first layer calls four modules, and every other calls two and depends on
// two stacks, by reading their state or, some, by saying so.
type estate struct {
	sites   []site
	modules int
}

// A site is a directory of configuration.
type site struct {
	dir       string
	instances []string // none is one stack
	after     []int    // the sites that it depends on
	calls     []int    // the modules that it calls
	declared  bool     // .assize.yaml says the last of after
}

// newEstate is an estate of n stacks. Every 24th directory has two instances.
func newEstate(n int) estate {
	e := estate{modules: max(n/10, 5)}
	count := n - n/25
	layer := max(count/layers, 2)
	for i := range count {
		s := site{dir: fmt.Sprintf("live/team%02d/s%05d", i%40, i)}
		if i%24 == 23 {
			s.instances = []string{"dev", "prod"}
		}
		calls := 4
		if i >= layer {
			first, second := i*7%layer, (i*11+5)%layer
			if second == first {
				second = (second + 1) % layer
			}
			before := (min(i/layer, layers-1) - 1) * layer
			s.after, s.declared, calls = []int{before + first, before + second}, i%20 == 7, 2
		}
		for j := range calls {
			s.calls = append(s.calls, (i*3+j*(1+e.modules/5))%e.modules)
		}
		e.sites = append(e.sites, s)
	}
	return e
}

// keys are what assize calls the stacks of the site.
func (s site) keys() []string {
	keys := []string{s.dir}
	for i, instance := range s.instances {
		keys = append(keys[:i], s.dir+":"+instance)
	}
	return keys
}

// places are where the peers have them. They know no instances: there, each is
// a directory of its own.
func (s site) places() []string {
	places := []string{s.dir}
	for i, instance := range s.instances {
		places = append(places[:i], path.Join(s.dir, "env", instance))
	}
	return places
}

// last is the one that others depend on, of keys or of places.
func last(names []string) string { return names[len(names)-1] }

// state is the name of its state in the bucket.
func state(key string) string { return strings.ReplaceAll(key, ":", "/") + ".tfstate" }

// write makes the files of the estate below root: those of the tool and of
// assize, and beside them those of terramate and terragrunt.
func (e estate) write(root string) error {
	files := map[string]string{
		"assize.yaml":      "tool: tofu\nstacks:\n  instances:\n    from_var_files: env/*.tfvars\n",
		"terramate.tm.hcl": "terramate {\n  required_version = \">= 0.4.0\"\n}\n",
		".gitignore":       ".terraform/\n",
	}
	for i := range e.modules {
		e.writeModule(files, i)
	}
	for i := range e.sites {
		e.writeSite(files, i)
		e.writePeers(files, i)
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (e estate) writeModule(files map[string]string, i int) {
	dir := fmt.Sprintf("modules/m%04d/", i)
	files[dir+"main.tf"] = objects(4)
	files[dir+"variables.tf"] = inputs(4)
	files[dir+"outputs.tf"] = outputs(2)
}

func (e estate) writeSite(files map[string]string, i int) {
	s := e.sites[i]
	var calls, reads strings.Builder
	for j, m := range s.calls {
		fmt.Fprintf(&calls, "module \"part%d\" {\n  source = \"../../../modules/m%04d\"\n\n  name  = \"${var.name}-%d\"\n  owner = local.owner\n}\n\n", j, m, j)
	}
	for j, a := range s.after {
		key := last(e.sites[a].keys())
		if j == 1 && s.declared {
			files[s.dir+"/.assize.yaml"] = "depends_on:\n  - " + key + "\n"
			continue
		}
		fmt.Fprintf(&reads, "data \"terraform_remote_state\" \"up%d\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"example-states\"\n    key    = %q\n    region = var.region\n  }\n}\n\n", j, state(key))
	}
	key := fmt.Sprintf("    key    = %q\n", state(s.dir))
	for _, instance := range s.instances {
		key = "" // .assize.yaml says it
		files[s.dir+"/env/"+instance+".tfvars"] = fmt.Sprintf("name   = \"s%05d-%s\"\nregion = \"eu-central-1\"\n", i, instance)
	}
	if len(s.instances) > 0 {
		files[s.dir+"/.assize.yaml"] += "backend_config:\n  - 'key={{ .Path }}/{{ .Instance }}.tfstate'\n"
	}
	files[s.dir+"/backend.tf"] = "terraform {\n  required_version = \">= 1.6\"\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      version = \"~> 5.0\"\n    }\n  }\n" +
		"  backend \"s3\" {\n    bucket = \"example-states\"\n" + key + "    region = \"eu-central-1\"\n  }\n}\n\nprovider \"aws\" {\n  region = var.region\n  default_tags {\n    tags = { owner = local.owner }\n  }\n}\n"
	files[s.dir+"/main.tf"] = fmt.Sprintf("locals {\n  owner = \"team%02d\"\n}\n\n", i%40) + calls.String() + reads.String() + objects(3)
	files[s.dir+"/variables.tf"] = inputs(3)
	files[s.dir+"/outputs.tf"] = outputs(2)
}

// writePeers writes the same stacks, in the same order, for the peers.
func (e estate) writePeers(files map[string]string, i int) {
	s := e.sites[i]
	for _, place := range s.places() {
		up := strings.Repeat("../", strings.Count(place, "/")+1)
		var after []string
		grunt := "terraform {\n  source = \"" + strings.TrimSuffix(up+s.dir, "/") + "\"\n}\n"
		for j, a := range s.after {
			at := last(e.sites[a].places())
			after = append(after, fmt.Sprintf("%q", "/"+at))
			grunt += fmt.Sprintf("\ndependency \"up%d\" {\n  config_path = %q\n}\n", j, up+at)
		}
		files[place+"/stack.tm.hcl"] = fmt.Sprintf("stack {\n  name  = %q\n  after = [%s]\n}\n", place, strings.Join(after, ", "))
		files[place+"/terragrunt.hcl"] = grunt
	}
}

// objects, inputs and outputs are what a tool reads most of and a graph needs
// nothing of.
func objects(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("resource \"aws_instance\" \"r%d\" {\n  ami           = data.aws_ami.base.id\n  instance_type = var.size == \"large\" ? \"m6i.large\" : \"t3.micro\"\n\n"+
			"  tags = {\n    Name  = \"${var.name}-%d\"\n    owner = \"team\"\n  }\n\n  lifecycle {\n    ignore_changes = [ami]\n  }\n}\n\n", i, i)
	}
	return text
}

func inputs(n int) (text string) {
	for _, name := range []string{"name", "region", "owner", "size"}[:n] {
		text += fmt.Sprintf("variable %q {\n  type        = string\n  description = \"What it is called, where it is, or whose it is.\"\n  default     = \"\"\n}\n\n", name)
	}
	return text
}

func outputs(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("output \"id%d\" {\n  value = aws_instance.r%d.id\n}\n\n", i, i)
	}
	return text
}
