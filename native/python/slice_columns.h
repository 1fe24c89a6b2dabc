// The columns of slices that Python hands over, as the passes over them take them.
#pragma once

#include "columns.h"
#include "wire/stored_slices.h"

namespace headway {

// As many rows as `tick_ns` has; `blocked_in` may be empty. Raises ValueError where a column has another length.
inline StoredSlices stored_slices(const Input<int16_t>& tick_ns, const Input<int64_t>& end_ticks,
                                  const Input<int64_t>& running_ticks, const Input<int64_t>& runnable_ticks,
                                  const Input<int64_t>& blocked_ticks, const Input<int64_t>& stolen_ticks,
                                  const Input<int32_t>& thread_id, const Input<int32_t>& waker_id,
                                  const Input<uint8_t>& flags, const Input<uint8_t>& blocked_in) {
  StoredSlices slices;
  slices.rows = tick_ns.shape(0);
  slices.end_ticks = checked(end_ticks, slices.rows);
  slices.running_ticks = checked(running_ticks, slices.rows);
  slices.runnable_ticks = checked(runnable_ticks, slices.rows);
  slices.blocked_ticks = checked(blocked_ticks, slices.rows);
  slices.stolen_ticks = checked(stolen_ticks, slices.rows);
  slices.thread_id = checked(thread_id, slices.rows);
  slices.waker_id = checked(waker_id, slices.rows);
  slices.flags = checked(flags, slices.rows);
  slices.blocked_in = blocked_in.shape(0) == 0 ? nullptr : checked(blocked_in, slices.rows);
  return slices;
}

}  // namespace headway
