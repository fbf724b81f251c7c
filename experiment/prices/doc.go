package prices
