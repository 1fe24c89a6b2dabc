"""The message types of pprof's profile.proto for Google's protobuf runtime, independent of headway's writer.

Names, numbers and types of the fields are those of github.com/google/pprof/proto/profile.proto.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

_FIELDS = {
    "ValueType": "type int64 1, unit int64 2",
    "Label": "key int64 1, str int64 2, num int64 3, num_unit int64 4",
    "Line": "function_id uint64 1, line int64 2",
    "Sample": "location_id *uint64 1, value *int64 2, label *Label 3",
    "Mapping": "id uint64 1, memory_start uint64 2, memory_limit uint64 3, file_offset uint64 4, filename int64 5, "
    "build_id int64 6, has_functions bool 7, has_filenames bool 8, has_line_numbers bool 9, has_inline_frames bool 10",
    "Location": "id uint64 1, mapping_id uint64 2, address uint64 3, line *Line 4, is_folded bool 5",
    "Function": "id uint64 1, name int64 2, system_name int64 3, filename int64 4, start_line int64 5",
    "Profile": "sample_type *ValueType 1, sample *Sample 2, mapping *Mapping 3, location *Location 4, "
    "function *Function 5, string_table *string 6, drop_frames int64 7, keep_frames int64 8, time_nanos int64 9, "
    "duration_nanos int64 10, period_type ValueType 11, period int64 12, comment *int64 13, default_sample_type int64 14",
}


def _profile_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof_schema", syntax="proto3")
    field_type = descriptor_pb2.FieldDescriptorProto
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for each in fields.split(", "):
            field, kind, number = each.split()
            label = field_type.LABEL_REPEATED if kind.startswith("*") else field_type.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            descriptor = message.field.add(name=field, number=int(number), label=label)
            if kind in _FIELDS:
                descriptor.type, descriptor.type_name = field_type.TYPE_MESSAGE, f".pprof_schema.{kind}"
            else:
                descriptor.type = getattr(field_type, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof_schema.Profile"))


Profile: Any = _profile_class()
