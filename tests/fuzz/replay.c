/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Gives a fuzz target every file that is named, as libFuzzer would. */
#include "fuzz.h"

int main(int argc, char **argv)
{
	if (fuzz_more)
		fuzz_more();
	for (int i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "rb");
		uint8_t *buf;
		long size = 0;

		insist(in && !fseek(in, 0, SEEK_END) && (size = ftell(in)) >= 0, argv[i],
		       "cannot be read");
		rewind(in);
		/* Of its exact size, so that a memory checker sees a step too far. */
		buf = malloc(size ? (size_t)size : 1);
		insist(buf && fread(buf, 1, (size_t)size, in) == (size_t)size, argv[i],
		       "cannot be read");
		fclose(in);
		LLVMFuzzerTestOneInput(buf, (size_t)size);
		free(buf);
	}
	printf("%d inputs replayed\n", argc - 1);
	return argc < 2;
}
