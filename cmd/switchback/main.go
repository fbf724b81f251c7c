// Command switchback plans, drives, loads, analyses and reports switchback experiments on LLM provider routers.
package main

func main() {}
