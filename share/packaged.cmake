# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a package has otherwise than `cmake --install` leaves it: compressed man pages, and for a .deb a changelog
# in Debian's form and the reasons why lintian may be silent. CPack runs this when all files of a package are in
# place. Dates come from SOURCE_DATE_EPOCH, if it is set: the same sources, the same bytes.
set(usr ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(share ${usr}/share)
file(GLOB to_compress ${share}/man/man*/*[1-8])

if(CPACK_GENERATOR STREQUAL "DEB")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${share}/doc/osmroutes/changelog
    "osmroutes (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * What is new: /usr/share/doc/osmroutes/docs/CHANGELOG.md\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  list(APPEND to_compress ${share}/doc/osmroutes/changelog)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/osmroutes.lintian-overrides
    ${share}/lintian/overrides/osmroutes COPYONLY)
  file(GLOB_RECURSE binaries ${usr}/bin/osmroutes ${usr}/lib/libosmroutes.so
       ${usr}/lib/osmroutes-live.so ${usr}/lib/libosmroutes-core-*.so)
  execute_process(COMMAND strip --remove-section=.comment ${binaries} COMMAND_ERROR_IS_FATAL ANY)
endif()
if(to_compress)
  execute_process(COMMAND gzip -n9 ${to_compress} COMMAND_ERROR_IS_FATAL ANY)
endif()
# Whatever the umask.
file(GLOB written ${share}/doc/osmroutes/changelog.gz ${share}/lintian/overrides/osmroutes)
if(written)
  file(CHMOD ${written} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endif()
file(CHMOD_RECURSE ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
