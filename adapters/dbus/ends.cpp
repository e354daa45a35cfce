#include "ends.hpp"

#include <cctype>

using dyno::Error;
using dyno::dbus::Line;
using dyno::dbus::Message;

namespace {

// The channel's name as an element of a path or a name may be: all but letters and digits becomes `_` and two hexadecimal
// digits.
std::string element(const char *channel) {
    constexpr const char *DIGITS = "0123456789abcdef";
    std::string text = "c";
    for (; *channel; channel++) {
        const auto c = static_cast<unsigned char>(*channel);
        if (std::isalnum(c)) {
            text += *channel;
        } else {
            text += {'_', DIGITS[c >> 4], DIGITS[c & 15]};
        }
    }
    return text;
}

std::string path_of(const dyno_channel &channel) { return "/dyno/" + element(channel.name); }

// Who answers the calls of a channel of requests.
std::string name_of(const char *requests) { return "dev.dyno." + element(requests); }

dyno::broker::Tell teller(const std::shared_ptr<Line> &line, const std::string &path) {
    return [line = line.get(), path](const std::string &said) { line->tell(path, said); };
}

} // namespace

dyno_node::dyno_node(const dyno_context &context)
    : participant(context.participant), address_([&] {
          char *escaped = dbus_address_escape_value((std::string(context.scratch) + "/bus").c_str());
          const std::string address = std::string("unix:path=") + (escaped ? escaped : "");
          dbus_free(escaped);
          return address;
      }()) {
    // Here and not with the first end: a bus that is missing is told where the node is opened.
    const Line probe(address_);
}

std::shared_ptr<Line> dyno_node::line(const dyno_channel &channel) {
    if (channel.carries == DYNO_CARRIES_MESSAGES) {
        return std::make_shared<Line>(address_);
    }
    auto &line = calls_[channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner];
    if (!line) {
        line = std::make_shared<Line>(address_);
    }
    return line;
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : line_(node.line(channel)), carries_(channel.carries), path_(path_of(channel)), name_(name_of(channel.name)),
      room_(channel.max_payload), readers_(teller(line_, path_ + "/writer")) {
    line_->hear(path_ + "/readers", [this](const std::string &said) { readers_.heard(said); });
    readers_.ask();
}

dyno_sender::~dyno_sender() {
    line_->hear_no_more(path_ + "/readers");
    readers_.leave();
}

uint32_t dyno_sender::matched() {
    line_->listen();
    return readers_.count();
}

dyno_status dyno_sender::send(size_t length) {
    Message message;
    if (carries_ == DYNO_CARRIES_RESPONSES) {
        const Message request = line_->release();
        if (!request) {
            return DYNO_REFUSED;
        }
        message.reset(dbus_message_new_method_return(request.get()));
    } else if (carries_ == DYNO_CARRIES_REQUESTS) {
        message = dyno::dbus::call(name_);
    } else {
        message = dyno::dbus::signal(path_);
    }
    if (!message) {
        throw std::bad_alloc();
    }
    dyno::dbus::put_bytes(message.get(), room_.data(), length);
    line_->send(message.get());
    return DYNO_OK;
}

dyno_receiver::dyno_receiver(dyno_node &node, const dyno_channel &channel, bool blocks)
    : line_(node.line(channel)), carries_(channel.carries), patience_ms_(blocks ? DYNO_PATIENCE_MS : 0),
      path_(path_of(channel)), writer_(node.participant, teller(line_, path_ + "/readers")) {
    if (carries_ == DYNO_CARRIES_MESSAGES) {
        line_->match(path_);
    } else if (carries_ == DYNO_CARRIES_REQUESTS) {
        line_->own(name_of(channel.name));
    }
    line_->hear(path_ + "/writer", [this](const std::string &said) { writer_.heard(said); });
    writer_.announce();
}

dyno_receiver::~dyno_receiver() {
    line_->hear_no_more(path_ + "/writer");
    writer_.leave();
}

bool dyno_receiver::matched() {
    line_->listen();
    return writer_.is_there();
}

dyno_status dyno_receiver::take(dyno_on_message on_message, void *user) {
    Message message = line_->take(patience_ms_);
    if (!message) {
        return DYNO_NONE;
    }
    if (dbus_message_get_type(message.get()) == DBUS_MESSAGE_TYPE_ERROR) {
        throw Error(DYNO_PEER_GONE, std::string("the bus answers ") + dbus_message_get_error_name(message.get()));
    }
    DBusMessage *const shown = message.get();
    if (carries_ == DYNO_CARRIES_REQUESTS) {
        dbus_message_ref(shown);
        line_->hold(Message(shown));
    }
    if (!dyno::dbus::show(shown, on_message, user)) {
        throw Error(DYNO_ERROR, "a message on " + path_ + " holds no array of bytes");
    }
    return DYNO_OK;
}
