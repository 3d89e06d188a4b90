package metadata

import (
	"encoding/base64"
	"path/filepath"
	"strings"
)

// isManifest reports whether a document is a Kubernetes object.
func isManifest(n *node) bool { return n.kind == mapping && n.get("kind") != nil }

// manifest returns the YAML entries of a ConfigMap or a Secret, each as a
// document of its own whose relative paths mean what the manifest's would. Of
// the rest of the object nothing is checked.
func (d *decoder) manifest(n *node) []document {
	kind := n.get("kind")
	var docs []document
	switch kind.text {
	case "ConfigMap":
		docs = d.dataEntries(n, "data", false)
		docs = append(docs, d.dataEntries(n, "binaryData", true)...)
	case "List":
		return d.manifestList(n)
	case "Secret":
		docs = d.dataEntries(n, "stringData", false)
		for _, e := range d.dataEntries(n, "data", true) {
			// The API server lets stringData win over data of the same key.
			if !named(docs, e.name) {
				docs = append(docs, e)
			}
		}
	default:
		d.failAt(kind, "kind %s holds no metadata; a ConfigMap or a Secret does", quote(kind))
		return nil
	}
	if len(docs) == 0 {
		d.failAt(kind, "this %s has no entry whose name ends in .yaml or .yml", kind.text)
	}
	return docs
}

// manifestList returns the entries of the objects that kubectl lists.
func (d *decoder) manifestList(n *node) []document {
	items := n.get("items")
	if items == nil || items.kind != list {
		d.failAt(n, "a List without items")
		return nil
	}
	var docs []document
	for _, item := range items.items {
		if !isManifest(item) || item.get("kind").text == "List" {
			d.failAt(item, "an item of a List must be a ConfigMap or a Secret")
			return nil
		}
		docs = append(docs, d.manifest(item)...)
	}
	return docs
}

func named(docs []document, name string) bool {
	for _, e := range docs {
		if e.name == name {
			return true
		}
	}
	return false
}

func (d *decoder) dataEntries(n *node, section string, encoded bool) []document {
	data := n.get(section)
	if data == nil || data.kind == null {
		return nil
	}
	if data.kind != mapping {
		d.failAt(data, "%s must be a mapping, this is %s", section, data.kind)
		return nil
	}
	var docs []document
	for _, p := range data.pairs {
		if !isYAML(p.key) {
			continue
		}
		if p.value.kind != text {
			d.failAt(p.value, "%s must be a text, this is %s", quoteKey(p.key), p.value.kind)
			return nil
		}
		content := []byte(p.value.text)
		if encoded {
			var err error
			if content, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(p.value.text), "")); err != nil {
				d.failAt(p.value, "%s is no base64", quoteKey(p.key))
				return nil
			}
		}
		entry := d.doc
		entry.name, entry.entry, entry.data = d.doc.name+"["+objectPrefix(n)+p.key+"]", true, content
		docs = append(docs, entry)
	}
	return docs
}

// objectPrefix tells the objects of one file apart.
func objectPrefix(n *node) string {
	if meta := n.get("metadata"); meta != nil {
		if name := meta.get("name"); name != nil && name.text != "" {
			return name.text + "/"
		}
	}
	return ""
}

func isYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}
