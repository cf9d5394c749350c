@echo off
rem SPDX-License-Identifier: MIT
rem
rem Runs the self-test of etw_exporter on this machine and packs the files that it leaves into one archive.
rem
rem   collect.cmd [private] [noservice] [system_providers] [FOLDER]
rem
rem private:   names of the machine, of users and in paths are masked; no event logs.
rem noservice: no service is installed, run and removed.
rem system_providers: the session of the self-test has them (Windows 11, Server 2022).
rem FOLDER:    a new folder for the files; the archive is FOLDER.zip. Default: in your user folder.
rem
rem It ends with the status of the self-test: 0, or 1 when a row of its table failed. 2: it is not
rem run as administrator, the program is missing, or FOLDER has files, which would be in the archive
rem whether they are masked or not. 3: the archive could not be packed.
setlocal EnableExtensions DisableDelayedExpansion

set "program=%~dp0etw_selftest.exe"
set "system=%SystemRoot%\System32"
set "options=--service"
set "mask="
set "logger="
set "out="

:arguments
if "%~1"=="" goto check
if /i "%~1"=="private" (
	set "mask=--private"
) else if /i "%~1"=="noservice" (
	set "options="
) else if /i "%~1"=="system_providers" (
	set "logger=--system-providers"
) else (
	set "out=%~f1"
)
shift
goto arguments

:check
if not exist "%program%" (
	echo "%program%" is missing: collect.cmd must be in the folder of etw_selftest.exe.
	exit /b 2
)
rem Only administrators may read this key.
"%system%\reg.exe" query "HKU\S-1-5-19" >nul 2>&1
if errorlevel 1 (
	echo This must run as administrator: right-click collect.cmd, "Run as administrator".
	exit /b 2
)
if defined out goto look
for /l %%n in (1,1,99) do if not defined out if not exist "%USERPROFILE%\etw_exporter-self-test-%%n" set "out=%USERPROFILE%\etw_exporter-self-test-%%n"
goto run

:look
for /f "delims=" %%f in ('dir /b /a "%out%" 2^>nul') do goto full
goto run

:full
echo "%out%" has files: name a new folder.
exit /b 2

:run
echo This takes about two minutes. Ctrl-C stops it and keeps what was collected.
"%program%" "--out=%out%" %mask% %options% %logger%
set "status=%errorlevel%"
if not exist "%out%\summary.txt" (
	echo The self-test left no files in "%out%".
	exit /b %status%
)

set "archive=%out%.zip"
if exist "%archive%" del "%archive%"
if not exist "%system%\tar.exe" goto powershell
"%system%\tar.exe" -a -cf "%archive%" -C "%out%" .
goto packed

:powershell
rem Before Windows 10 1803.
"%system%\WindowsPowerShell\v1.0\powershell.exe" -NoProfile -Command "Compress-Archive -Path (Join-Path $env:out '*') -DestinationPath $env:archive"

:packed
if not exist "%archive%" (
	echo The archive could not be packed. Please pack the folder "%out%" yourself.
	exit /b 3
)
echo.
echo The archive is "%archive%".
echo It has names of this machine, of its users, programs and files, unless you ran collect.cmd private.
echo Look into it, and attach it to an issue of the project: see docs/windows-first-run.md.
exit /b %status%
