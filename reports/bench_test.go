package reports

import (
	"fmt"
	"testing"
)

func BenchmarkRender(b *testing.B) {
	for _, models := range []int{10, 100} {
		b.Run(fmt.Sprintf("models=%d", models), func(b *testing.B) {
			doc := manyModelsDocument(models)
			b.ReportAllocs()
			var bytes int
			for b.Loop() {
				files, err := Render(doc, Options{})
				if err != nil {
					b.Fatal(err)
				}
				bytes = 0
				for _, f := range files {
					bytes += len(f.Bytes)
				}
			}
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}
