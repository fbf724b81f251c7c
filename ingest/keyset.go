package ingest

import "hash/maphash"

// keySet finds out, while rows stream by, that no two of a load have the same dedupeKey: then DuckDB need not look for
// duplicates among them when the load ends. It holds a hash of every key, as long as they are few enough.
type keySet struct {
	distinct bool // so far, and certain: equal keys have equal hashes
	seed     maphash.Seed
	slots    []uint64 // 4¹¹ of them at most; 0 is empty
	used     int
}

// mostKeys bounds the memory to 32 MiB.
const mostKeys = 3 << 20

func newKeySet() *keySet {
	return &keySet{distinct: true, seed: maphash.MakeSeed(), slots: make([]uint64, 1<<12)}
}

// add adds the keys of rows.
func (k *keySet) add(rows []request) {
	for i := range rows {
		if !k.distinct {
			return
		}
		k.insert(k.hash(&rows[i]))
	}
}

// hash is a hash of what dedupeKey names.
func (k *keySet) hash(r *request) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := maphash.String(k.seed, r.SourceRowID)
	h = h*odd + maphash.String(k.seed, r.Model)
	h = h*odd + maphash.String(k.seed, r.Source)
	h = (h + uint64(r.TS/1000)) * odd
	return h ^ h>>32 | 1
}

func (k *keySet) insert(h uint64) {
	if 4*k.used >= 3*len(k.slots) {
		k.grow()
	}
	mask := uint64(len(k.slots) - 1)
	for i := h >> 1 & mask; ; i = (i + 1) & mask {
		switch k.slots[i] {
		case h:
			k.giveUp()
			return
		case 0:
			k.slots[i] = h
			if k.used++; k.used > mostKeys {
				k.giveUp()
			}
			return
		}
	}
}

// grow makes room for four times as many: to put a key into its new slot takes as long as a row's text.
func (k *keySet) grow() {
	old := k.slots
	k.slots, k.used = make([]uint64, 4*len(old)), 0
	for _, h := range old {
		if h != 0 {
			k.insert(h)
		}
	}
}

// tellApart says that these were all of so many rows, and no two have one key.
func (k *keySet) tellApart(rows int64) bool { return k.distinct && int64(k.used) == rows }

// giveUp leaves the question to DuckDB.
func (k *keySet) giveUp() { k.distinct, k.slots = false, nil }
