package cluster

// layer says where a setting stands; fromNowhere when it is not set.
func (p *props) layer(key string) Layer {
	if x, ok := p.get(key); ok {
		return x.Layer
	}
	return fromNowhere
}

// foremost returns the one of several settings for one thing that decides: that
// of the lowest layer, within it the first of keys. The key is empty when none is
// set.
func (p *props) foremost(keys ...string) (key string, x Property) {
	for _, k := range keys {
		if y, ok := p.get(k); ok && (key == "" || y.Layer < x.Layer) {
			key, x = k, y
		}
	}
	return key, x
}

// orOption returns a property of Java's, or one of the options in
// sasl.jaas.config that mean the same, which only win from a lower layer.
func (p *props) orOption(key string, j jaasEntry, options ...string) string {
	option := j.first(options)
	if x, ok := p.get(key); ok && (option == "" || x.Layer <= j.from.Layer) {
		return x.Value.Reveal()
	}
	return option
}

// optionOr returns an option in sasl.jaas.config, or the property of
// librdkafka's that means the same, which only wins from a lower layer.
func (p *props) optionOr(j jaasEntry, option, key string) string {
	if x, ok := p.get(key); ok && (j.options[option] == "" || x.Layer < j.from.Layer) {
		return x.Value.Reveal()
	}
	return j.options[option]
}

func (e jaasEntry) first(options []string) string {
	for _, o := range options {
		if v := e.options[o]; v != "" {
			return v
		}
	}
	return ""
}
