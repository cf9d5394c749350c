/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds_manifest.h"

#define BEFORE                                                                 \
	"<instrumentationManifest xmlns:win='urn:w'><instrumentation><events>" \
	"<provider name='P' guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}'>"
#define BEHIND "</provider></events></instrumentation>"
#define END    "</instrumentationManifest>"

const struct fuzz_manifest fuzz_manifests[] = {
	{ "words",
	  BEFORE "<keywords><keyword name='K' mask='0x1'/></keywords>"
		 "<levels><level name='L' value='16'/></levels>"
		 "<tasks><task name='T' value='1'><opcodes><opcode name='O' value='11'/>"
		 "</opcodes></task></tasks><opcodes><opcode name='O' value='12'/></opcodes>"
		 "<events><event value='1' version='2' task='T' opcode='O' level='L'"
		 " keywords='K win:ResponseTime' symbol='S'/>"
		 "<event value='0x2' opcode='win:Start'/></events>" BEHIND END },
	{ "maps", BEFORE
	  "<maps><valueMap name='V'><map value='1' message='$(string.s)'/></valueMap>"
	  "<bitMap name='B'><map value='0x4' message='b '/></bitMap></maps>"
	  "<events><event value='1' template='A'/></events>"
	  "<templates><template tid='A'><data name='v' inType='win:UInt8' map='V'/>"
	  "<data name='b' inType='win:UInt32' map='B' count='2'/></template></templates>" BEHIND
	  "<localization><resources culture='en-US'><stringTable>"
	  "<string id='s' value='one'/></stringTable></resources></localization>" END },
	{ "templates", BEFORE
	  "<events><event value='1' template='A'/></events><templates><template tid='A'>"
	  "<data name='n' inType='win:UInt8'/><data name='d' inType='win:Binary' length='n'/>"
	  "<struct name='s' count='n'><data name='x' inType='win:UnicodeString' length='2'/>"
	  "<struct name='t'><data name='y' inType='win:Pointer' count='2'/></struct></struct>"
	  "<data name='a' inType='win:UInt32' outType='win:IPv4'/>"
	  "<data name='z' inType='win:SID'/></template></templates>" BEHIND END },
};
const size_t fuzz_manifest_count = sizeof fuzz_manifests / sizeof fuzz_manifests[0];
