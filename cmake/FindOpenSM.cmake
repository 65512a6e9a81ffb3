# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# The OpenSM to build for: the system's, or the one installed under OSR_OPENSM_PREFIX.
#
#   OpenSM::OpenSM         its headers and libraries, and what compat.h has to know about them
#   OSR_OPENSM_VERSION     e.g. 3.3.23, read in osm_version.h; OpenSM loads a plugin only if this is its own
set(OSR_OPENSM_PREFIX "" CACHE PATH "prefix of another OpenSM than the system's, e.g. /opt/opensm")
if(OSR_OPENSM_PREFIX)
  set(_where PATHS ${OSR_OPENSM_PREFIX} NO_DEFAULT_PATH)
endif()
find_path(OSR_OPENSM_INCLUDE opensm/osm_opensm.h ${_where}
  PATH_SUFFIXES include/infiniband infiniband)
find_library(OSR_OPENSM_LIBRARY opensm ${_where} PATH_SUFFIXES lib lib64)
find_library(OSR_OSMCOMP_LIBRARY osmcomp ${_where} PATH_SUFFIXES lib lib64)
if(OSR_OPENSM_INCLUDE)
  file(STRINGS ${OSR_OPENSM_INCLUDE}/opensm/osm_version.h _line REGEX "define OSM_VERSION ")
  string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" OSR_OPENSM_VERSION "${_line}")
  # Since 3.3.23 plugins can register routing engines.
  file(STRINGS ${OSR_OPENSM_INCLUDE}/opensm/osm_opensm.h _registers
    REGEX "osm_register_external_routing_engine")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenSM
  REQUIRED_VARS OSR_OPENSM_LIBRARY OSR_OSMCOMP_LIBRARY OSR_OPENSM_INCLUDE OSR_OPENSM_VERSION
  VERSION_VAR OSR_OPENSM_VERSION)
mark_as_advanced(OSR_OPENSM_INCLUDE OSR_OPENSM_LIBRARY OSR_OSMCOMP_LIBRARY)

if(OpenSM_FOUND AND NOT TARGET OpenSM::OpenSM)
  add_library(OpenSM::OpenSM INTERFACE IMPORTED GLOBAL)
  target_include_directories(OpenSM::OpenSM SYSTEM INTERFACE ${OSR_OPENSM_INCLUDE})
  target_link_libraries(OpenSM::OpenSM INTERFACE ${OSR_OPENSM_LIBRARY} ${OSR_OSMCOMP_LIBRARY})
  if(_registers)
    target_compile_definitions(OpenSM::OpenSM INTERFACE OSR_OPENSM_REGISTERS)
  endif()
endif()
