package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError tells what is wrong with the flags of a command line in plain words.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return valueError("--"+value.GetFlag().Name, value.GetFlag(), value.GetValue())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest(unknown.GetSpecifiedName(), names); near != "" {
			return usageError("did you mean --"+near+"?", "%w", err)
		}
	}
	return usageError(cmd.CommandPath()+" --help shows the usage", "%w", err)
}

// valueError tells that the value of a flag is not of the flag's kind. by is what set it.
func valueError(by string, f *pflag.Flag, value string) error {
	hints := []struct{ kind, hint string }{
		{"int", "write a whole number"},
		{"uint64", "write a whole number from 0 on"},
		{"float64", "write a number such as 0.95"},
		{"bool", "write true or false"},
		{"duration", "write a length of time with its unit, such as 30s or 5m"},
		{"intSlice", "write a list such as 7,14"},
	}
	at := slices.IndexFunc(hints, func(h struct{ kind, hint string }) bool { return h.kind == f.Value.Type() })
	hint := ""
	if at >= 0 {
		hint = hints[at].hint
	}
	return usageError(hint, "%s: cannot read %q", by, value)
}
