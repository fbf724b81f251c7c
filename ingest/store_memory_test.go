package ingest

import (
	"os"
	"testing"
)

func TestStoreInMemoryLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for range 2 { // the second store must not see the first one's tables
		store, err := Open(t.Context(), InMemory, Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.db.ExecContext(t.Context(), "CREATE TABLE once (i INTEGER)"); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("a store in memory left files: %v", left)
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
