// Package kafkatest gives tests Kafka clusters to run on: embedded ones
// (franz-go's kfake, always) and a real Apache Kafka (when it is asked for),
// behind one interface, so that one test body says what kcm must do on both.
//
// It owns starting, breaking and ending clusters, and writing exactly the bytes
// that a test needs. It must not contain anything that kcm itself uses, and no
// package outside the tests may import it.
//
// A test on both kinds:
//
//	func TestMain(m *testing.M) { os.Exit(kafkatest.M(m).Run()) }
//
//	func TestReadsBothClusters(t *testing.T) {
//		kafkatest.Each(t, func(t *testing.T, rig *kafkatest.Rig) {
//			east := rig.Cluster("east")
//			topic := rig.Name("orders")
//			east.CreateTopic(topic, 3, nil)
//			east.Produce(topic, kafkatest.Record{Partition: 1, Key: []byte("k"), Value: []byte("v")})
//			// ... run kcm's code against east.Bootstrap()
//		})
//	}
//
// Each runs on the embedded clusters, and again on Apache Kafka 4.3.1 when
// KCM_TEST_KAFKA=1 is set or the tests are built with -tags kafka
// (KCM_TEST_KAFKA=only leaves the embedded clusters out). Then a
// missing Java, Maven or jar fails the test: nothing here ever skips. A test
// that only a real broker can answer stands in a file with
//
//	//go:build kafka
//
// and calls Real. The brokers start on first use, are shared by all tests of
// one test binary, and end with it, whatever way it ends. The jars are fetched
// once, into the user's cache directory.
//
// Registry gives a test a real schema registry in the same way: Apicurio Registry
// 3.3.3, which needs Java 21 or later; where only Java 17 is found it is 3.0.9.
package kafkatest
