// What a process gives up besides calls and files: namespaces, capabilities, descriptors.
//
// Thread safety: before any other thread. Errors: kUnsupported, with the system's words. Ownership: descriptors that
// are closed must not be used afterwards.
#pragma once

#include "base/result.h"

namespace fathom {

// Moves this process into an empty network and an IPC namespace of its own, in a user namespace where it has no
// capability that could do so otherwise. False: the host refuses, which changes nothing.
//
// A PID namespace would need another process, and a mount namespace would hide only the names of files, which calls
// and Landlock do not give access to.
bool leave_namespaces();

// A process of root keeps CAP_DAC_OVERRIDE: a person may run it on the files of another user.
Result<> drop_capabilities();

// From this number on.
Result<> close_descriptors(int first);

}  // namespace fathom
