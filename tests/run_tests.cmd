@echo off
rem SPDX-License-Identifier: MIT
rem run_tests.cmd BUILD [PATTERN]: runs the unit tests of a cross-built tree on this Windows, without CMake.
rem
rem BUILD is the folder of etw_exporter.exe, tests\test*.exe and tests\source_dir.txt; PATTERN chooses programs, test* by default.
rem Some tests read files of the repository. They know its folder on the machine that built them, from the root of the drive:
rem where this machine has no such folder, that name leads to the repository that this script is in (a junction).
rem
rem Prints a line for each program, and the output of those that fail. The exit status is 1 when one failed or none ran. Programs
rem with tests of live sessions (tests_live, tests_selftest_live, tests_fake_etw) contain an in-memory ETW and start no session of Windows.
setlocal EnableExtensions
if "%~1"=="" (
	echo usage: run_tests.cmd BUILD [PATTERN]
	exit /b 2
)
set "build=%~f1"
set "pattern=%~2"
if not defined pattern set "pattern=test*"
set "repository=%~dp0.."
set "source="
set /p source=<"%build%\tests\source_dir.txt"
if not defined source (
	echo %build%\tests\source_dir.txt is absent or empty
	exit /b 2
)
set "source=%source:/=\%"

if exist "%build%\tests\run" rd /s /q "%build%\tests\run"
mkdir "%build%\tests\run"
cd /d "%build%\tests\run"
if not exist "%source%\config" (
	for %%P in ("%source%\..") do if not exist "%%~fP" mkdir "%%~fP"
	mklink /J "%source%" "%repository%"
)

set "ETW_EXPORTER=%build%\etw_exporter.exe"
set /a passed=0
set /a failed=0
set /a skipped=0
for /f "delims=" %%T in ('dir /b "%build%\tests\%pattern%.exe"') do call :run_one "%build%\tests\%%T" "%%~nT"
echo %passed% passed, %failed% failed, %skipped% skipped
if %failed% gtr 0 exit /b 1
if %passed% equ 0 exit /b 1
exit /b 0

rem A file of its own: a child process that outlives its test keeps its output open. A test that wrote nothing did not run.
:run_one
"%~1" >"%~2.txt" 2>&1 <nul
set "status=%errorlevel%"
if not exist "%~2.txt" set "status=not run"
for %%F in ("%~2.txt") do if "%%~zF"=="0" set "status=not run"
if "%status%"=="0" (
	set /a passed=passed+1
	echo ok: %~2
	exit /b 0
)
if "%status%"=="77" (
	set /a skipped=skipped+1
	echo skipped: %~2
	exit /b 0
)
set /a failed=failed+1
echo FAILED: %~2, exit status %status%
type "%~2.txt"
exit /b 0
