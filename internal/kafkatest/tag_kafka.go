//go:build kafka

package kafkatest

const builtForKafka = true
