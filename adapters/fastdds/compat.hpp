// What differs between Fast DDS 2.x (library and namespace `fastrtps` in part) and 3.x, in one place.
#ifndef DYNO_FASTDDS_COMPAT_HPP
#define DYNO_FASTDDS_COMPAT_HPP

#if __has_include(<fastdds/config.hpp>)
#include <fastdds/config.hpp>
#else
#include <fastrtps/config.h>
#endif

#if defined(FASTDDS_VERSION_MAJOR) && FASTDDS_VERSION_MAJOR >= 3
#define DYNO_FASTDDS_3 1
#else
#define DYNO_FASTDDS_3 0
#endif

#include <fastdds/dds/core/LoanableCollection.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/log/StdoutErrConsumer.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#if DYNO_FASTDDS_3
#include <fastdds/LibrarySettings.hpp>
#include <fastdds/rtps/transport/TransportInterface.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>
#else
#include <fastdds/rtps/transport/TransportInterface.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>
#endif

namespace edds = eprosima::fastdds::dds;
namespace transport = eprosima::fastdds::rtps;

namespace compat {

#if DYNO_FASTDDS_3

namespace rtps = eprosima::fastdds::rtps;
using Duration = edds::Duration_t;
using Code = edds::ReturnCode_t;
constexpr Code ok = edds::RETCODE_OK;
constexpr Code no_data = edds::RETCODE_NO_DATA;
constexpr Code timeout = edds::RETCODE_TIMEOUT;
constexpr Code out_of_resources = edds::RETCODE_OUT_OF_RESOURCES;
inline int number(Code code) { return static_cast<int>(code); }
inline bool register_type(edds::TypeSupport &type, edds::DomainParticipant *participant) {
    return type.register_type(participant) == ok;
}
inline void set_intraprocess(bool on) {
    eprosima::fastdds::LibrarySettings settings;
    settings.intraprocess_delivery = on ? eprosima::fastdds::INTRAPROCESS_FULL : eprosima::fastdds::INTRAPROCESS_OFF;
    // Refused where participants exist already: then it was set by the first of them.
    edds::DomainParticipantFactory::get_instance()->set_library_settings(settings);
}
template <typename Times> void heartbeat(Times &times, const Duration &period) { times.heartbeat_period = period; }
template <typename Times> void writer_response(Times &times, const Duration &delay) {
    times.nack_response_delay = delay;
}
template <typename Times> void reader_response(Times &times, const Duration &delay) {
    times.heartbeat_response_delay = delay;
}

#else

namespace rtps = eprosima::fastrtps::rtps;
using Duration = eprosima::fastrtps::Duration_t;
using Code = eprosima::fastrtps::types::ReturnCode_t;
constexpr auto ok = Code::RETCODE_OK;
constexpr auto no_data = Code::RETCODE_NO_DATA;
constexpr auto timeout = Code::RETCODE_TIMEOUT;
constexpr auto out_of_resources = Code::RETCODE_OUT_OF_RESOURCES;
inline int number(const Code &code) { return static_cast<int>(code()); }
inline bool register_type(edds::TypeSupport &type, edds::DomainParticipant *participant) {
    return type.register_type(participant) == ok;
}
inline void set_intraprocess(bool on) {
    eprosima::fastrtps::LibrarySettingsAttributes settings;
    settings.intraprocess_delivery =
        on ? eprosima::fastrtps::INTRAPROCESS_FULL : eprosima::fastrtps::INTRAPROCESS_OFF;
    eprosima::fastrtps::xmlparser::XMLProfileManager::library_settings(settings);
}
template <typename Times> void heartbeat(Times &times, const Duration &period) { times.heartbeatPeriod = period; }
template <typename Times> void writer_response(Times &times, const Duration &delay) { times.nackResponseDelay = delay; }
template <typename Times> void reader_response(Times &times, const Duration &delay) {
    times.heartbeatResponseDelay = delay;
}

#endif

// A span of time in milliseconds as the library writes it.
inline Duration milliseconds(long long ms) {
    Duration duration;
    duration.seconds = static_cast<int32_t>(ms / 1000);
    duration.nanosec = static_cast<uint32_t>(ms % 1000) * 1'000'000u;
    return duration;
}

} // namespace compat

#endif
