package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command describes one command. Flags are added to its FlagSet by the file that holds it.
type command struct {
	use     string // "plan", "ingest FILE…"
	short   string // one line
	long    string
	example string
	args    cobra.PositionalArgs
	flags   *pflag.FlagSet
	run     func(ctx context.Context, args []string) error
}

// commands returns every command, in the order of the data's way.
func (p *process) commands() []command {
	return []command{
		p.runCommand(),
		p.planCommand(),
		p.driveCommand(),
		p.ingestCommand(),
		p.analyzeCommand(),
		p.reportCommand(),
		p.queryCommand(),
		p.explainCommand(),
		p.powerCommand(),
		p.validateCommand(),
		p.manCommand(),
		p.versionCommand(),
	}
}

// errInterrupted is what an interrupted command ends with.
var errInterrupted = errors.New("interrupted")

// execute runs one command line and returns its exit code.
func (p *process) execute(ctx context.Context) int {
	started := false // an error before a command runs is one of usage
	root := p.root(&started)
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var coded *ExitError
	switch {
	case errors.As(err, &coded):
	case !started:
		err = usageError(called.CommandPath()+" --help shows the usage", "%w", err)
	case ctx.Err() != nil:
		err = &ExitError{Code: exitInterrupted, Err: errInterrupted}
	}
	logJSON, _ := called.Flags().GetBool("log-json") // a command without the flag logs no JSON
	p.complain(err, logJSON)
	return codeOf(err)
}

// complain prints an error and its hints to stderr.
func (p *process) complain(err error, asJSON bool) {
	log := slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{ReplaceAttr: utcTime}))
	for _, c := range complaints(err) {
		switch {
		case asJSON:
			log.Error(c.text, "hint", c.hint, "exit_code", codeOf(err))
		default:
			fmt.Fprintf(p.stderr, "switchback: error: %s\n", c.text) //nolint:errcheck // nowhere left to complain
			if c.hint != "" {
				fmt.Fprintf(p.stderr, "switchback: hint: %s\n", c.hint) //nolint:errcheck // nowhere left to complain
			}
		}
	}
}

// root builds the command tree. Errors of flags and arguments become usage errors.
func (p *process) root(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "switchback",
		Short: "Plan, run and analyse switchback experiments on LLM provider routers",
		Long: "switchback plans a switchback experiment on an LLM provider router, drives the built-in router in each arm or\n" +
			"reads the request logs of a gateway, and reports the effects with 95 % intervals.\n\n" +
			"Every flag can be set by an environment variable: --max-rejects is SWITCHBACK_MAX_REJECTS.\n" +
			"Order: flag > environment > configuration file > default.",
		Example:       "  switchback run\n  switchback run --config router-week.toml --date 2026-11-08",
		Version:       thisProgram().label(),
		Args:          knownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return errors.New("no command") },
	}
	root.SetVersionTemplate("switchback {{.Version}}\n")
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exitCodeHelp())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.SetHelpCommand(helpCommand())
	for _, c := range p.commands() {
		root.AddCommand(p.cobra(c, started))
	}
	root.AddCommand(p.readerCommand())
	return root
}

// cobra turns a command into cobra's form.
func (p *process) cobra(c command, started *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     c.use,
		Short:   c.short,
		Long:    c.short + ".\n\n" + c.long,
		Example: c.example,
		Args:    c.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			*started = true
			if err := applyEnvironment(cmd.Flags(), p.getenv); err != nil {
				return err
			}
			p.warnOfEnvironment(cmd)
			return c.run(cmd.Context(), args)
		},
	}
	c.flags.SortFlags = false
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(c.flags)
	return cmd
}

// noArguments refuses arguments. A configuration that stands there was to be --config.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help shows the usage"
	if cmd.Flags().Lookup("config") != nil && strings.HasSuffix(args[0], ".toml") {
		hint = "did you mean --config " + args[0] + "?"
	}
	return usageError(hint, "%s takes no argument: %q", cmd.CommandPath(), args[0])
}

// knownCommand refuses a word that is no command and names the nearest one.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usageError(didYouMean(args[0], names), "unknown command %q", args[0])
}

// helpCommand is cobra's help command with an error for a topic that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("unknown command %q", strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}
