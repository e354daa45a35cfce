//! The cases by name: what each asks for, and which adapters it concerns.

use super::rig::Rig;
use super::{call, description, exchange, lifetime, process};
use dyno_adapter::{Capabilities, Placement, Wait};

/// One behaviour that adapters must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Name, summary, capabilities and options are there, agree with each other and do not change.
    DescriptionIsComplete,
    /// A wait strategy that is not declared is refused when asked for.
    UndeclaredWaitsAreRefused,
    /// Messages from 8 bytes to 4 MiB, odd sizes and sizes around the fragment limit, arrive whole
    /// and in order with every declared wait strategy.
    EverySizeArrivesIntact,
    /// Messages of changing size sent back to back all arrive in order.
    MixedSizesArriveInOrder,
    /// Two channels of opposite direction between the same participants carry round trips.
    RepliesFlowBack,
    /// A sender can be used from within a callback.
    ACallbackMaySend,
    /// It does not matter which end is opened first; a second receiver that comes later is matched
    /// and gets what is sent from then on.
    LateJoinersAreMatched,
    /// Each of three receivers gets the messages of two senders, each sender's in order.
    TwoSendersReachThreeReceivers,
    /// A sender faster than its receiver waits, is refused, or loses messages where that is
    /// declared; what arrives is intact, in order and there once.
    AFullBufferDamagesNothing,
    /// Signals that interrupt sends and takes do not tear, lose or repeat messages.
    SignalsTearNoMessage,
    /// A blocking take without a message returns, at the latest when a signal interrupts it.
    BlockingTakeReturnsWithoutAMessage,
    /// A spinning take without a message does not sleep.
    SpinningTakeReturnsAtOnce,
    /// After a subscription is dropped its callback is not called any more and is dropped.
    ADroppedSubscriptionIsSilent,
    /// Two processes exchange messages.
    ProcessesExchangeMessages,
    /// A sender whose receiver's process is killed gets an error or goes on, but does not hang.
    SenderSurvivesAKilledReceiver,
    /// A receiver whose sender's process is killed gets an error or no message, but does not hang.
    ReceiverSurvivesAKilledSender,
    /// Requests from 8 bytes up are answered, each by its own response, with every declared wait
    /// strategy, whichever end of a participant is made first.
    CallsAreAnswered,
    /// A request can be answered from within the callback that is given it.
    ACallbackMayAnswer,
    /// One participant answers two callers at once.
    TwoCallersReachOneProvider,
    /// A caller whose provider's process is killed gets an error or goes on, but does not hang.
    CallSurvivesAKilledProvider,
    /// Opening and closing both ends a hundred times leaves no descriptor, thread, mapping or file.
    OpenAndCloseLeakNothing,
    /// What others can see by name lies in the scratch directory or is claimed, and is gone after
    /// the drop.
    WhatIsCreatedIsClaimedAndRemoved,
}

impl Case {
    /// Why this case does not concern an adapter of these capabilities.
    pub(super) fn excluded_by(self, capabilities: &Capabilities) -> Option<&'static str> {
        use Case::*;
        let pulls = capabilities.waits.iter().any(|w| *w != Wait::Callback);
        let two_sided = !matches!(
            self,
            DescriptionIsComplete
                | UndeclaredWaitsAreRefused
                | EverySizeArrivesIntact
                | SpinningTakeReturnsAtOnce
                | OpenAndCloseLeakNothing
                | WhatIsCreatedIsClaimedAndRemoved
        );
        let calls = matches!(
            self,
            CallsAreAnswered
                | ACallbackMayAnswer
                | TwoCallersReachOneProvider
                | CallSurvivesAKilledProvider
        );
        let processes = matches!(
            self,
            ProcessesExchangeMessages
                | CallSurvivesAKilledProvider
                | SenderSurvivesAKilledReceiver
                | ReceiverSurvivesAKilledSender
        );
        let lacks = |wait| !capabilities.waits.contains(&wait);
        let receivers = capabilities.max_receivers.unwrap_or(u16::MAX);
        if two_sided && capabilities.loopback {
            Some("it has no second participant")
        } else if calls && !capabilities.request_response {
            Some("it has no request-response of its own")
        } else if processes && !capabilities.placements.contains(&Placement::Process) {
            Some("its two sides cannot live in different processes")
        } else if !processes && self != DescriptionIsComplete && !Rig::threads(capabilities) {
            Some("its two sides cannot live in one process")
        } else if self == TwoSendersReachThreeReceivers && receivers < 3 {
            Some("a channel of it has fewer than three receivers")
        } else if self == BlockingTakeReturnsWithoutAMessage && lacks(Wait::Block) {
            Some("its receivers do not block")
        } else if self == SpinningTakeReturnsAtOnce && lacks(Wait::Spin) {
            Some("its receivers do not spin")
        } else if matches!(
            self,
            ADroppedSubscriptionIsSilent | ACallbackMaySend | ACallbackMayAnswer
        ) && lacks(Wait::Callback)
        {
            Some("it does not call back")
        } else if self == ReceiverSurvivesAKilledSender && !pulls {
            Some("nothing of it can be taken")
        } else {
            None
        }
    }

    /// What plays it.
    pub(super) fn body(self) -> fn(&Rig) {
        match self {
            Case::DescriptionIsComplete => description::is_complete,
            Case::UndeclaredWaitsAreRefused => description::undeclared_waits_are_refused,
            Case::EverySizeArrivesIntact => exchange::every_size_arrives_intact,
            Case::MixedSizesArriveInOrder => exchange::mixed_sizes_arrive_in_order,
            Case::RepliesFlowBack => exchange::replies_flow_back,
            Case::ACallbackMaySend => exchange::a_callback_may_send,
            Case::LateJoinersAreMatched => lifetime::late_joiners_are_matched,
            Case::TwoSendersReachThreeReceivers => exchange::two_senders_reach_three_receivers,
            Case::AFullBufferDamagesNothing => exchange::a_full_buffer_damages_nothing,
            Case::SignalsTearNoMessage => exchange::signals_tear_no_message,
            Case::BlockingTakeReturnsWithoutAMessage => lifetime::blocking_take_returns,
            Case::SpinningTakeReturnsAtOnce => lifetime::spinning_take_returns_at_once,
            Case::ADroppedSubscriptionIsSilent => lifetime::a_dropped_subscription_is_silent,
            Case::ProcessesExchangeMessages => process::processes_exchange_messages,
            Case::SenderSurvivesAKilledReceiver => process::sender_survives_a_killed_receiver,
            Case::ReceiverSurvivesAKilledSender => process::receiver_survives_a_killed_sender,
            Case::CallsAreAnswered => call::calls_are_answered,
            Case::ACallbackMayAnswer => call::a_callback_may_answer,
            Case::TwoCallersReachOneProvider => call::two_callers_reach_one_provider,
            Case::CallSurvivesAKilledProvider => call::call_survives_a_killed_provider,
            Case::OpenAndCloseLeakNothing => process::open_and_close_leak_nothing,
            Case::WhatIsCreatedIsClaimedAndRemoved => process::what_is_created_is_claimed,
        }
    }
}
