# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# cpack -G DEB, cpack -G RPM: one package, osmroutes, for exactly the OpenSM it was built for. Both
# read SOURCE_DATE_EPOCH, so the same sources give the same package.
if(NOT OSR_PLUGIN OR NOT OSR_MANUAL)
  return()
endif()
set(CPACK_PACKAGE_NAME osmroutes)
set(CPACK_PACKAGE_VENDOR "the osmroutes authors")
set(OSR_CONTACT "the osmroutes authors <osmroutes@localhost>" CACHE STRING "the maintainer of the package")
set(CPACK_PACKAGE_CONTACT "${OSR_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "routing engines for the InfiniBand subnet manager OpenSM")
set(CPACK_PACKAGE_DESCRIPTION
  "A plugin for OpenSM ${OSR_OPENSM_VERSION} that serves its routing engines dfsssp and
sssp, and adds others: balanced routes without deadlock, every table checked
before it is used. The command osmroutes does the same offline, for fabrics in
files.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_THREADS 1)
# What is packed is built before: scripts/demo builds less, and a page may have changed.
add_custom_target(packed)
foreach(target osmroutes osmroutes_core osmroutes_plugin osmroutes_live osrkeys manual)
  if(TARGET ${target})
    add_dependencies(packed ${target})
  endif()
endforeach()
set(CPACK_OSR_BUILD ${PROJECT_BINARY_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/packed.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/packaged.cmake)

# OpenSM loads a plugin only if both have the same version, so nothing but this version will do. Any
# package revision of it has the same: 3.3.23-2 < "3.3.23." <= 3.3.23.0.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "opensm (>= ${OSR_OPENSM_VERSION}), opensm (<< ${OSR_OPENSM_VERSION}.)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3") # examples/traffic-patterns
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "infiniband-diags, ibsim-utils")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${PROJECT_BINARY_DIR}/deb/conffiles "/etc/opensm/osmroutes.conf\n")
file(WRITE ${PROJECT_BINARY_DIR}/deb/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/conffiles ${PROJECT_BINARY_DIR}/deb/triggers
  ${CMAKE_CURRENT_SOURCE_DIR}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "GPL-2.0-only OR Linux-OpenIB")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_PACKAGE_REQUIRES "opensm = ${OSR_OPENSM_VERSION}")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _build_id_links none")
set(CPACK_RPM_USER_FILELIST "%config(noreplace) /etc/opensm/osmroutes.conf"
  "%license /usr/share/doc/osmroutes/copyright" "%doc /usr/share/doc/osmroutes/README.md")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /etc/opensm /usr/share/man /usr/share/man/man1
  /usr/share/man/man5 /usr/share/man/man7 /usr/share/bash-completion
  /usr/share/bash-completion/completions ${CMAKE_INSTALL_FULL_LIBDIR})
# For those who build packages by rpmbuild.
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/osmroutes.spec.in ${PROJECT_BINARY_DIR}/osmroutes.spec @ONLY)
include(CPack)
