/* SPDX-License-Identifier: MIT */
/* Control codes of disks and volumes, and their answers; see windows.h in this folder. */
#ifndef FAKE_ETW_COMPAT_WINIOCTL_H
#define FAKE_ETW_COMPAT_WINIOCTL_H

#include "windows.h"

#define IOCTL_STORAGE_QUERY_PROPERTY         0x002d1400u
#define IOCTL_STORAGE_GET_DEVICE_NUMBER      0x002d1080u
#define IOCTL_DISK_GET_DRIVE_GEOMETRY        0x00070000u
#define IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS 0x00560000u

#define FILE_DEVICE_DISK 0x00000007u

typedef DWORD DEVICE_TYPE;

typedef enum _STORAGE_PROPERTY_ID { StorageDeviceProperty = 0 } STORAGE_PROPERTY_ID;
typedef enum _STORAGE_QUERY_TYPE { PropertyStandardQuery = 0 } STORAGE_QUERY_TYPE;
typedef enum _STORAGE_BUS_TYPE { BusTypeUnknown = 0 } STORAGE_BUS_TYPE;
typedef enum _MEDIA_TYPE { FixedMedia = 12 } MEDIA_TYPE;

typedef struct _STORAGE_PROPERTY_QUERY {
	STORAGE_PROPERTY_ID PropertyId;
	STORAGE_QUERY_TYPE QueryType;
	BYTE AdditionalParameters[1];
} STORAGE_PROPERTY_QUERY, *PSTORAGE_PROPERTY_QUERY;

typedef struct _STORAGE_DEVICE_DESCRIPTOR {
	DWORD Version;
	DWORD Size;
	BYTE DeviceType;
	BYTE DeviceTypeModifier;
	BOOLEAN RemovableMedia;
	BOOLEAN CommandQueueing;
	DWORD VendorIdOffset;
	DWORD ProductIdOffset;
	DWORD ProductRevisionOffset;
	DWORD SerialNumberOffset;
	STORAGE_BUS_TYPE BusType;
	DWORD RawPropertiesLength;
	BYTE RawDeviceProperties[1];
} STORAGE_DEVICE_DESCRIPTOR, *PSTORAGE_DEVICE_DESCRIPTOR;

typedef struct _STORAGE_DEVICE_NUMBER {
	DEVICE_TYPE DeviceType;
	DWORD DeviceNumber;
	DWORD PartitionNumber;
} STORAGE_DEVICE_NUMBER, *PSTORAGE_DEVICE_NUMBER;

typedef struct _DISK_GEOMETRY {
	LARGE_INTEGER Cylinders;
	MEDIA_TYPE MediaType;
	DWORD TracksPerCylinder;
	DWORD SectorsPerTrack;
	DWORD BytesPerSector;
} DISK_GEOMETRY, *PDISK_GEOMETRY;

typedef struct _DISK_EXTENT {
	DWORD DiskNumber;
	LARGE_INTEGER StartingOffset;
	LARGE_INTEGER ExtentLength;
} DISK_EXTENT, *PDISK_EXTENT;

typedef struct _VOLUME_DISK_EXTENTS {
	DWORD NumberOfDiskExtents;
	DISK_EXTENT Extents[ANYSIZE_ARRAY];
} VOLUME_DISK_EXTENTS, *PVOLUME_DISK_EXTENTS;

_Static_assert(sizeof(STORAGE_PROPERTY_QUERY) == 12, "size");
_Static_assert(sizeof(STORAGE_DEVICE_DESCRIPTOR) == 40, "size");
_Static_assert(offsetof(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties) == 36, "offset");
_Static_assert(sizeof(STORAGE_DEVICE_NUMBER) == 12, "size");
_Static_assert(sizeof(DISK_GEOMETRY) == 24, "size");
_Static_assert(sizeof(DISK_EXTENT) == 24 && sizeof(VOLUME_DISK_EXTENTS) == 32, "size");

#endif
