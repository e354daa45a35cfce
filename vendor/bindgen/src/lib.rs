//! Empty: the build scripts of iceoryx2 call bindgen on QNX alone, which Dyno does not run on.
