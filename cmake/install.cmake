# What `cmake --install build/release --prefix PREFIX` installs, and `cpack` packs: the programs, a configuration to start from, what
# Prometheus and Grafana load, the documentation, whose pages keep their places to each other.
include(GNUInstallDirs)

set(etwx_config_dir ${CMAKE_INSTALL_SYSCONFDIR}/${PROJECT_NAME})
set(etwx_data_dir ${CMAKE_INSTALL_DATADIR}/${PROJECT_NAME})

install(TARGETS etw_exporter etwtool RUNTIME)
if(WIN32) # a debugger finds the debug files beside the programs (cmake/windows.cmake)
  install(FILES ${PROJECT_BINARY_DIR}/etw_exporter.debug ${PROJECT_BINARY_DIR}/etwtool.debug DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(PROGRAMS exporter/windows/collect.cmd DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# Editors find schema.json beside the configuration and above the collectors.
install(FILES config/etw_exporter.yaml config/schema.json DESTINATION ${etwx_config_dir})
install(FILES config/schema.json DESTINATION ${etwx_data_dir})
# The shipped collectors are built in; these are to read, and to copy.
install(DIRECTORY config/collectors DESTINATION ${etwx_data_dir} FILES_MATCHING PATTERN *.yaml)
install(DIRECTORY dashboards/grafana dashboards/provisioning dashboards/prometheus DESTINATION ${etwx_data_dir}
  PATTERN *_test.yml EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.csv PATTERN *.png)
install(FILES config/README.md config/METRICS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/config)
file(GLOB pictures CONFIGURE_DEPENDS dashboards/*.png)
install(FILES dashboards/README.md ${pictures} DESTINATION ${CMAKE_INSTALL_DOCDIR}/dashboards)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "${PROJECT_NAME}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
if(NOT WIN32) # those are stripped already, and their debugging information is a file to keep
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
