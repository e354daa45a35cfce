//! The cases: what each asks for, which adapters it concerns, and what plays it. Each is declared here
//! and nowhere else; the tests of adapters and `dyno conformance` are loops over this list.

use dyno_adapter::{Capabilities, Placement, Wait};

/// Gives the list of all cases to the macro `$then`: for each a doc comment, its name in text and as a
/// variant of [`Case`], what it needs of an adapter, and the function that plays it.
#[doc(hidden)]
#[macro_export]
macro_rules! each_case {
    ($($then:tt)*) => {
        $($then)* ! {
            /// Name, summary, capabilities and options are there, agree with each other and do not
            /// change.
            description_is_complete: DescriptionIsComplete [] description::is_complete;
            /// The version that is told comes from the library that is loaded, not from the header that
            /// the adapter was built with.
            version_is_that_of_the_loaded_library: VersionIsThatOfTheLoadedLibrary
                [Library] description::version_is_that_of_the_loaded_library;
            /// A wait strategy that is not declared is refused when asked for.
            undeclared_waits_are_refused: UndeclaredWaitsAreRefused
                [Threads] description::undeclared_waits_are_refused;
            /// Messages from 8 bytes to 4 MiB, odd sizes and sizes around the fragment limit, arrive
            /// whole and in order with every declared wait strategy.
            every_size_arrives_intact: EverySizeArrivesIntact
                [Threads] exchange::every_size_arrives_intact;
            /// Messages of changing size sent back to back all arrive in order.
            mixed_sizes_arrive_in_order: MixedSizesArriveInOrder
                [TwoSides Threads] exchange::mixed_sizes_arrive_in_order;
            /// Two channels of opposite direction between the same participants carry round trips.
            replies_flow_back: RepliesFlowBack [TwoSides Threads] exchange::replies_flow_back;
            /// A sender can be used from within a callback.
            a_callback_may_send: ACallbackMaySend
                [TwoSides Threads Callback] exchange::a_callback_may_send;
            /// A receiver does not claim to know its sender before there is one.
            no_sender_is_seen_before_there_is_one: NoSenderIsSeenBeforeThereIsOne
                [TwoSides Threads] lifetime::no_sender_is_seen_before_there_is_one;
            /// It does not matter which end is opened first; a second receiver that comes later is
            /// matched and gets what is sent from then on.
            late_joiners_are_matched: LateJoinersAreMatched
                [TwoSides Threads] lifetime::late_joiners_are_matched;
            /// Each of three receivers gets the messages of two senders, each sender's in order.
            two_senders_reach_three_receivers: TwoSendersReachThreeReceivers
                [TwoSides Threads ThreeReceivers] exchange::two_senders_reach_three_receivers;
            /// A sender faster than its receiver waits, is refused, or loses messages where that is
            /// declared; what arrives is intact, in order and there once.
            a_full_buffer_damages_nothing: AFullBufferDamagesNothing
                [TwoSides Threads] exchange::a_full_buffer_damages_nothing;
            /// Signals that interrupt sends and takes do not tear, lose or repeat messages.
            signals_tear_no_message: SignalsTearNoMessage
                [TwoSides Threads] exchange::signals_tear_no_message;
            /// A blocking take without a message returns soon: when its patience ends, or when a signal
            /// interrupts it; that of a library behind the C ABI without a signal, too.
            blocking_take_returns_without_a_message: BlockingTakeReturnsWithoutAMessage
                [TwoSides Threads Block] lifetime::blocking_take_returns;
            /// A spinning take without a message does not sleep.
            spinning_take_returns_at_once: SpinningTakeReturnsAtOnce
                [Threads Spin] lifetime::spinning_take_returns_at_once;
            /// After a subscription is dropped its callback is not called any more and is dropped.
            a_dropped_subscription_is_silent: ADroppedSubscriptionIsSilent
                [TwoSides Threads Callback] lifetime::a_dropped_subscription_is_silent;
            /// After its sender was closed in order, a receiver gets what had arrived and no message
            /// twice, then an error or nothing; it does not hang.
            receiver_survives_a_closed_sender: ReceiverSurvivesAClosedSender
                [TwoSides Threads] gone::receiver_survives_a_closed_sender;
            /// When one of two receivers is closed, a send that is accepted reaches the other one; a
            /// send may also report that a peer is gone, but does not hang.
            one_of_two_receivers_may_go: OneOfTwoReceiversMayGo
                [TwoSides Threads TwoReceivers] gone::one_of_two_receivers_may_go;
            /// Two processes exchange messages.
            processes_exchange_messages: ProcessesExchangeMessages
                [TwoSides Processes] process::processes_exchange_messages;
            /// A sender whose receiver's process is killed gets an error or goes on, but neither it nor
            /// its closing hangs.
            sender_survives_a_killed_receiver: SenderSurvivesAKilledReceiver
                [TwoSides Processes] process::sender_survives_a_killed_receiver;
            /// A receiver whose sender's process is killed gets an error or no message, but does not
            /// hang.
            receiver_survives_a_killed_sender: ReceiverSurvivesAKilledSender
                [TwoSides Processes Takes] process::receiver_survives_a_killed_sender;
            /// Requests from 8 bytes up are answered, each by its own response, with every declared
            /// wait strategy, whichever end of a participant is made first.
            calls_are_answered: CallsAreAnswered [TwoSides Calls Threads] call::calls_are_answered;
            /// A request can be answered from within the callback that is given it.
            a_callback_may_answer: ACallbackMayAnswer
                [TwoSides Calls Threads Callback] call::a_callback_may_answer;
            /// One participant answers two callers at once.
            two_callers_reach_one_provider: TwoCallersReachOneProvider
                [TwoSides Calls Threads] call::two_callers_reach_one_provider;
            /// A caller whose provider's process is killed gets an error or goes on, but does not hang.
            call_survives_a_killed_provider: CallSurvivesAKilledProvider
                [TwoSides Calls Processes] call::call_survives_a_killed_provider;
            /// With a scratch directory whose path is longer than the name of a socket can be, messages
            /// arrive, or the node or its ends are refused with the reason.
            a_long_scratch_path_is_served_or_refused: ALongScratchPathIsServedOrRefused
                [Threads] place::a_long_scratch_path_is_served_or_refused;
            /// With IPv6 addresses messages arrive, or the node or its ends are refused with the reason.
            ipv6_is_served_or_refused: Ipv6IsServedOrRefused
                [TwoSides Threads Hosts] place::ipv6_is_served_or_refused;
            /// Opening and closing both ends a hundred times leaves no descriptor, thread, mapping or
            /// file.
            open_and_close_leak_nothing: OpenAndCloseLeakNothing
                [Threads] process::open_and_close_leak_nothing;
            /// What others can see by name lies in the scratch directory or is claimed, and is gone
            /// after the drop.
            what_is_created_is_claimed_and_removed: WhatIsCreatedIsClaimedAndRemoved
                [Threads] process::what_is_created_is_claimed;
        }
    };
}

macro_rules! declare {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $case:ident [$($need:ident)*] $module:ident :: $body:ident;
    )*) => {
        /// One behaviour that adapters must have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Case {
            $($(#[doc = $doc])* $case,)*
        }

        impl Case {
            /// Every case, in the order in which they are played.
            pub const ALL: &'static [Case] = &[$(Case::$case,)*];

            /// Its name, such as `replies_flow_back`.
            pub fn name(self) -> &'static str {
                match self { $(Case::$case => stringify!($name),)* }
            }

            /// What it asks for, in a sentence or two.
            pub fn asks(self) -> String {
                match self { $(Case::$case => concat!($($doc),*),)* }.trim().to_owned()
            }

            fn needs(self) -> &'static [Need] {
                match self { $(Case::$case => &[$(Need::$need),*],)* }
            }
        }
    };
}

each_case!(declare);

/// What a case needs of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    TwoSides,
    Calls,
    Processes,
    Threads,
    Hosts,
    TwoReceivers,
    ThreeReceivers,
    Block,
    Spin,
    Callback,
    Takes,
    Library,
}

impl Need {
    /// Why an adapter does not meet it.
    fn lacking(self, capabilities: &Capabilities, library: bool) -> Option<&'static str> {
        let waits = |wait| capabilities.waits.contains(&wait);
        let placed = |placement| capabilities.placements.contains(&placement);
        let receivers = capabilities.max_receivers.unwrap_or(u16::MAX);
        let takes = || waits(Wait::Spin) || waits(Wait::Block);
        let (met, reason) = match self {
            Need::TwoSides => (!capabilities.loopback, "it has no second participant"),
            Need::Calls => (
                capabilities.request_response,
                "it has no request-response of its own",
            ),
            Need::Processes => (
                placed(Placement::Process),
                "its two sides cannot live in different processes",
            ),
            Need::Threads => (
                placed(Placement::Thread),
                "its two sides cannot live in one process",
            ),
            Need::Hosts => (placed(Placement::Host), "it does not reach other hosts"),
            Need::TwoReceivers => (receivers >= 2, "a channel of it has one receiver"),
            Need::ThreeReceivers => (
                receivers >= 3,
                "a channel of it has fewer than three receivers",
            ),
            Need::Block => (waits(Wait::Block), "its receivers do not block"),
            Need::Spin => (waits(Wait::Spin), "its receivers do not spin"),
            Need::Callback => (waits(Wait::Callback), "it does not call back"),
            Need::Takes => (takes(), "nothing of it can be taken"),
            Need::Library => (library, "it is built into Dyno together with its library"),
        };
        (!met).then_some(reason)
    }
}

impl Case {
    /// The case of that name.
    pub fn named(name: &str) -> Option<Case> {
        Self::ALL.iter().copied().find(|case| case.name() == name)
    }

    /// Why this case does not concern an adapter of these capabilities. `library`: whether it lives in a
    /// shared library.
    pub(super) fn excluded_by(
        self,
        capabilities: &Capabilities,
        library: bool,
    ) -> Option<&'static str> {
        let mut needs = self.needs().iter();
        needs.find_map(|need| need.lacking(capabilities, library))
    }
}
