//go:build !kafka

package kafkatest

const builtForKafka = false
