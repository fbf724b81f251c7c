package main

import (
	"os"

	"switchback/experiment/prices"
)

// priceHint says what a price list looks like.
const priceHint = "a price list is a CSV file with the columns provider, model, usd_per_mtok_input, usd_per_mtok_output, or a published JSON list"

// priceBook reads the price list of logs.prices, or the one inside the program.
func (c *config) priceBook() (*prices.Book, error) {
	if c.Logs == nil || c.Logs.Prices == "" {
		return prices.Embedded()
	}
	book, err := readPrices(c.file.resolve(c.Logs.Prices))
	if err != nil {
		return nil, usageError(priceHint, "%s: logs.prices: %w", c.file.place("logs.prices"), err)
	}
	return book, nil
}

func readPrices(path string) (*prices.Book, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return prices.Read(f, path)
}
