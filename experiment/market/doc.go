package market
