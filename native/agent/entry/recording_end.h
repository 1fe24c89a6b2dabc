// Ends a recording, whoever asks for it: afterwards the file is complete, and unmapped.
#pragma once

namespace headway::agent {

void end_recording() noexcept;
// The same where the recorder has asked for silence by the word in the file, unless the next recording has begun
// meanwhile.
void end_silenced() noexcept;
// False once the recorder wants no more: then the events are turned off. On a thread where JVMTI allows it.
bool is_still_wanted() noexcept;
bool is_ending() noexcept;  // a thread is in end_recording

}  // namespace headway::agent
