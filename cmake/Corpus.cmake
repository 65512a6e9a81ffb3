# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# osr_corpus(NAME OUT): unpacks tests/fuzz/corpus/NAME.tar.xz below the build directory and sets OUT to
# the list of its inputs. Unpacked anew whenever the archive has changed.
set_property(GLOBAL PROPERTY OSR_CORPUS_DIR ${CMAKE_BINARY_DIR}/corpus)
function(osr_corpus name out)
  set(archive ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}.tar.xz)
  get_property(dir GLOBAL PROPERTY OSR_CORPUS_DIR)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  file(REMOVE_RECURSE ${dir}/${name})
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${dir})
  # Archives may have a folder that only root can enter.
  file(CHMOD ${dir}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(GLOB inputs ${dir}/${name}/*)
  set(${out} ${inputs} PARENT_SCOPE)
endfunction()
