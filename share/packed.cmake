# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# CPack reads this before it packs.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${CPACK_OSR_BUILD} --target packed
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
