package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"switchback/experiment"
)

// The ready files of deploy: that they can be read, and that they treat every exit code as the table says.

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unit reads a systemd unit: its sections, keys and values. A key that stands twice keeps both values.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	settings, section := map[string][]string{}, ""
	for i, line := range strings.Split(deployed(t, name), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == "" {
			t.Fatalf("%s:%d: neither a section nor a setting: %s", name, i+1, line)
		}
		settings[section+"."+key] = append(settings[section+"."+key], value)
	}
	return settings
}

func TestSystemdUnits(t *testing.T) {
	service, timer := unit(t, "systemd/switchback.service"), unit(t, "systemd/switchback.timer")
	one := func(settings map[string][]string, key, want string) {
		t.Helper()
		if got := settings[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	one(service, "Service.Type", "oneshot")
	one(service, "Service.SuccessExitStatus", strconv.Itoa(exitIncomplete))
	one(service, "Service.Restart", "on-failure")
	one(service, "Service.RestartPreventExitStatus", strings.Join([]string{strconv.Itoa(exitUsage), strconv.Itoa(exitGuardrail), strconv.Itoa(exitInterrupted)}, " "))
	one(service, "Service.PrivateNetwork", "yes")
	one(timer, "Timer.Persistent", "true")
	one(timer, "Timer.OnCalendar", "*-*-* 03:17:00 UTC")
	checkCommandLine(t, service["Service.ExecStart"][0])
	checkEnvironment(t, service["Service.Environment"][0])
}

// cronJob is what the test looks at of a Kubernetes CronJob.
type cronJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Spec       struct {
		Schedule          string
		TimeZone          string `yaml:"timeZone"`
		ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
		JobTemplate       struct {
			Spec struct {
				BackoffLimit     int `yaml:"backoffLimit"`
				PodFailurePolicy struct {
					Rules []struct {
						Action      string
						OnExitCodes *struct {
							ContainerName string `yaml:"containerName"`
							Operator      string
							Values        []int
						} `yaml:"onExitCodes"`
					}
				} `yaml:"podFailurePolicy"`
				Template struct {
					Spec struct {
						RestartPolicy string `yaml:"restartPolicy"`
						Containers    []struct {
							Name string
							Args []string
							Env  []struct{ Name, Value string }
						}
					}
				}
			}
		} `yaml:"jobTemplate"`
	}
}

func TestKubernetesCronJob(t *testing.T) {
	var job cronJob
	if err := yaml.Unmarshal([]byte(deployed(t, "kubernetes/cronjob.yaml")), &job); err != nil {
		t.Fatal(err)
	}
	spec := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "CronJob" || spec.TimeZone != "Etc/UTC" || spec.ConcurrencyPolicy != "Forbid" || len(strings.Fields(spec.Schedule)) != 5 {
		t.Errorf("the job is %s %s at %q %s, %s", job.APIVersion, job.Kind, spec.Schedule, spec.TimeZone, spec.ConcurrencyPolicy)
	}
	pod := spec.JobTemplate.Spec
	container := pod.Template.Spec.Containers[0]
	if pod.Template.Spec.RestartPolicy != "Never" || pod.BackoffLimit < 1 {
		t.Error("a pod failure policy needs restartPolicy Never, and retries a backoffLimit")
	}
	for _, rule := range pod.PodFailurePolicy.Rules {
		if rule.OnExitCodes == nil {
			continue
		}
		codes := rule.OnExitCodes
		if rule.Action != "FailJob" || codes.ContainerName != container.Name || codes.Operator != "In" || !slices.Equal(codes.Values, []int{exitUsage, exitIncomplete, exitGuardrail}) {
			t.Errorf("rule %+v on %+v", rule, *codes)
		}
	}
	checkCommandLine(t, "switchback "+strings.Join(container.Args, " "))
	for _, e := range container.Env {
		checkEnvironment(t, e.Name+"="+e.Value)
	}
}

// indexedJob is what the test looks at of a Kubernetes Indexed Job.
type indexedJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Spec       struct {
		CompletionMode   string `yaml:"completionMode"`
		Completions      int
		Parallelism      int
		BackoffPerIndex  int `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy struct {
			Rules []struct {
				Action      string
				OnExitCodes *struct{ Values []int } `yaml:"onExitCodes"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []struct {
					Name string
					Args []string
					Env  []struct {
						Name, Value string
						ValueFrom   struct {
							FieldRef struct {
								FieldPath string `yaml:"fieldPath"`
							} `yaml:"fieldRef"`
						} `yaml:"valueFrom"`
					}
				}
			}
		}
	}
}

// Every index of the job is a share that drive takes, and their number is that of the shares.
func TestKubernetesIndexedJob(t *testing.T) {
	var job indexedJob
	if err := yaml.Unmarshal([]byte(deployed(t, "kubernetes/drive.yaml")), &job); err != nil {
		t.Fatal(err)
	}
	spec := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || spec.CompletionMode != "Indexed" || spec.Parallelism != spec.Completions || spec.BackoffPerIndex < 1 {
		t.Errorf("the job is %s %s, %s, %d at once of %d", job.APIVersion, job.Kind, spec.CompletionMode, spec.Parallelism, spec.Completions)
	}
	if spec.Template.Spec.RestartPolicy != "Never" {
		t.Error("a pod failure policy needs restartPolicy Never")
	}
	for _, rule := range spec.PodFailurePolicy.Rules {
		if rule.OnExitCodes != nil && (rule.Action != "FailJob" || !slices.Equal(rule.OnExitCodes.Values, []int{exitUsage})) {
			t.Errorf("rule %+v on %v", rule, rule.OnExitCodes.Values)
		}
	}
	container := spec.Template.Spec.Containers[0]
	checkCommandLine(t, "switchback "+strings.Join(container.Args, " "))
	shares, defined := 0, map[string]string{}
	for _, e := range container.Env {
		defined[e.Name] = e.ValueFrom.FieldRef.FieldPath
		if e.Name == envName("shard") {
			for index := range spec.Completions {
				share, err := parseShard(strings.Replace(e.Value, "$(INDEX)", strconv.Itoa(index), 1))
				if err != nil || share.Of != spec.Completions {
					t.Errorf("index %d: share %s of %d, %v", index, share, spec.Completions, err)
				}
				shares++
			}
		}
		checkEnvironment(t, e.Name+"="+e.Value)
	}
	if shares != spec.Completions || defined["INDEX"] != "metadata.annotations['batch.kubernetes.io/job-completion-index']" {
		t.Errorf("%d shares; the index is %q", shares, defined["INDEX"])
	}
}

// Every task of the array is a share that drive takes. The script runs with a stand-in for the program.
func TestSlurmArray(t *testing.T) {
	script := deployed(t, "slurm/drive.sbatch")
	array := regexp.MustCompile(`(?m)^#SBATCH --array=0-(\d+)$`).FindStringSubmatch(script)
	if array == nil {
		t.Fatal("no array from 0 on")
	}
	last, err := strconv.Atoi(array[1])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "switchback"), []byte("#!/bin/sh\necho switchback \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for task := 0; task <= last; task++ {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "SLURM_ARRAY_TASK_ID=" + strconv.Itoa(task)}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		line := strings.TrimSpace(string(out))
		checkCommandLine(t, line)
		_, text, _ := strings.Cut(line, "--shard ")
		if share, err := parseShard(text); err != nil || share != (experiment.Shard{Number: task, Of: last + 1}) {
			t.Errorf("task %d: %q, %v", task, line, err)
		}
	}
}

func TestAirflowDAG(t *testing.T) {
	text := deployed(t, "airflow/switchback_nightly.py")
	for _, want := range []string{
		"DONE = " + strconv.Itoa(exitDone) + "\n", "INCOMPLETE = " + strconv.Itoa(exitIncomplete) + "\n",
		"schedule=CronDataIntervalTimetable(", "def report(data_interval_start=None):", // the day that has ended, in Airflow 2 and 3
		"RETRY = (" + strconv.Itoa(exitFailed) + ", " + strconv.Itoa(exitLocked) + ")\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the DAG does not say %s", want)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to read the DAG with")
	}
	cmd := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("python: %v\n%s", err, out)
	}
}

func TestCrontab(t *testing.T) {
	entries := 0
	setting := regexp.MustCompile(`^[A-Z_]+=\S`)
	for i, line := range strings.Split(deployed(t, "crontab"), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case setting.MatchString(line):
			checkEnvironment(t, line)
		case regexp.MustCompile(`^(\S+ ){5}/\S+/nightly\.sh /\S+\.toml$`).MatchString(line):
			entries++
		default:
			t.Errorf("crontab:%d: cannot read %q", i+1, line)
		}
	}
	if entries != 1 {
		t.Errorf("%d entries", entries)
	}
}

// TestNightlyScriptRetries lets the script meet every exit code. A stand-in for the program counts its calls.
func TestNightlyScriptRetries(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, "deploy", "nightly.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range exitCodes() {
		dir := t.TempDir()
		program := "#!/bin/sh\necho called \"$@\" >>" + dir + "/calls\necho result\necho trouble >&2\nexit " + strconv.Itoa(c.Code) + "\n"
		if err := os.WriteFile(filepath.Join(dir, "switchback"), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", script, "router-week.toml", "--threads", "2")
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "SWITCHBACK_TRIES=3", "SWITCHBACK_PAUSE=0"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.Code {
			t.Errorf("exit code %d became %d", c.Code, got)
		}
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if c.Code == exitFailed || c.Code == exitLocked {
			want = 3
		}
		if got := strings.Count(string(calls), "called run --config router-week.toml --threads 2\n"); got != want {
			t.Errorf("exit code %d: %d calls, want %d:\n%s", c.Code, got, want, calls)
		}
		if quiet := len(out) == 0; quiet != (c.Code == exitDone) || strings.Contains(string(out), "result") {
			t.Errorf("exit code %d: prints %q", c.Code, out)
		}
	}
}

// checkCommandLine refuses a command or a flag that the program does not have.
func checkCommandLine(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	for _, c := range new(process).commands() {
		if commandName(c) != words[1] {
			continue
		}
		for _, w := range words[2:] {
			if name, isFlag := strings.CutPrefix(w, "--"); isFlag && c.flags.Lookup(name) == nil {
				t.Errorf("%s: no flag %s", line, w)
			}
		}
		return
	}
	t.Errorf("%s: no such command", line)
}

// checkEnvironment refuses SWITCHBACK_ variables that stand for no flag.
func checkEnvironment(t *testing.T, settings string) {
	t.Helper()
	for _, setting := range strings.Fields(settings) {
		name, _, _ := strings.Cut(setting, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		known := false
		for _, c := range new(process).commands() {
			known = known || c.flags.Lookup(strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-"))) != nil
		}
		if !known {
			t.Errorf("%s stands for no flag", name)
		}
	}
}

// TestNightlyPageTreatsEveryExitCode: the page says of each code what to do.
func TestNightlyPageTreatsEveryExitCode(t *testing.T) {
	text := readDocument(t, "docs/nightly.md")
	for _, c := range exitCodes() {
		if !regexp.MustCompile(`(?m)^\| ` + strconv.Itoa(c.Code) + `[ |]`).MatchString(text) {
			t.Errorf("docs/nightly.md does not say what to do on exit code %d", c.Code)
		}
	}
}
