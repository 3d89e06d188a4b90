package sandbox

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// order is what a record's value holds, in this order of keys.
type order struct {
	ID       string  `json:"id"`
	Customer string  `json:"customer"`
	Country  string  `json:"country"`
	Status   string  `json:"status"`
	Items    []item  `json:"items"`
	Total    money   `json:"total"`
	Currency string  `json:"currency"`
	Coupon   *string `json:"coupon"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Price    money  `json:"price"`
}

// money is an amount in cents, written with two decimals.
type money int

// MarshalJSON writes the amount as a number.
func (m money) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%02d", m/100, m%100), nil
}

// makeOrder makes the i-th order of a topic on a cluster: the same at every
// start, and another one on every other cluster.
func makeOrder(p place, i int) (key string, value []byte, err error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.String()))
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(i))) // made-up orders, no secrets
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	o := order{
		ID:       fmt.Sprintf("%s-%06d", p.cluster, i+1),
		Customer: fmt.Sprintf("customer-%03d", 1+r.IntN(200)),
		Country:  pick("AT", "BR", "CA", "DE", "ES", "FR", "GB", "IN", "JP", "KE", "NO", "US"),
		Status:   pick("created", "created", "paid", "paid", "shipped", "delivered", "cancelled"),
		Currency: "EUR",
	}
	for range 1 + r.IntN(3) {
		it := item{
			SKU:      pick("book", "lamp", "chair", "tea", "bike", "scarf", "radio", "globe") + fmt.Sprintf("-%02d", 1+r.IntN(40)),
			Quantity: 1 + r.IntN(4),
			Price:    money(199 + 50*r.IntN(300)),
		}
		o.Items = append(o.Items, it)
		o.Total += money(it.Quantity) * it.Price
	}
	if r.IntN(5) == 0 {
		coupon := pick("WELCOME", "SPRING10", "Grüße")
		o.Coupon = &coupon
	}
	value, err = json.Marshal(o)
	return o.Customer, value, err
}
