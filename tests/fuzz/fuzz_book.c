/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whatever the stored book of applications holds, what is wrong in it is refused with a sentence; what is
 * taken can be used, saved and read again.
 */
#include "keyring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *book = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct osr_sched *s = keyring_sched();
	struct osr_diag diag = { "" };
	uint32_t n, n_wrong;

	if (osr__book_restore(s, book, 4096, &n, &n_wrong, &diag) || n_wrong)
		insist(diag.text[0] != 0, "refused without a sentence", "");
	if (osr_sched_row(s, 0)) {
		insist(!osr_sched_fabric(s, keyring_fabric(), &diag), "the fabric", diag.text);
		while (osr_sched_work(s))
			;
		keyring_use(s);
	}
	json_decref(book);
	osr_sched_free(s);
	return 0;
}
