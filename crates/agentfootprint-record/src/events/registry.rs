//! The `registry!` macro, which makes everything from the one table.

macro_rules! registry {
    (
        count: $count:literal, domains: $domain_count:literal;
        $( $domain:ident $domain_variant:ident {
            $( $event:ident $variant:ident $($declared:ident)? $when:literal @ $stage:literal; )+
        } )+
    ) => {
        /// A domain: the middle part of an event name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Domain {
            $( #[doc = concat!("`agentfootprint.", stringify!($domain), ".*`")] $domain_variant, )+
        }

        impl Domain {
            /// All domains, in registry order (EVT-26).
            pub const ALL: [Self; $domain_count] = [$( Self::$domain_variant ),+];

            /// The word in the event name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$domain_variant => stringify!($domain), )+ }
            }

            /// The wildcard that hears every event of the domain (EVT-10).
            #[must_use]
            pub const fn wildcard(self) -> &'static str {
                match self {
                    $( Self::$domain_variant => concat!("agentfootprint.", stringify!($domain), ".*"), )+
                }
            }

            /// The domain of this word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $( stringify!($domain) => Some(Self::$domain_variant), )+
                    _ => None,
                }
            }
        }

        /// The name of a registered event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventName {
            $($(
                #[doc = concat!("`agentfootprint.", stringify!($domain), ".", stringify!($event), "`: ", $when, ".")]
                $variant,
            )+)+
        }

        impl EventName {
            /// All names, in registry order (EVT-26).
            pub const ALL: [Self; $count] = [$($( Self::$variant, )+)+];

            /// The full name, as recorded.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(
                        Self::$variant =>
                            concat!("agentfootprint.", stringify!($domain), ".", stringify!($event)),
                    )+)+
                }
            }

            /// The domain.
            #[must_use]
            pub const fn domain(self) -> Domain {
                match self { $($( Self::$variant => Domain::$domain_variant, )+)+ }
            }

            /// When it is said.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $($( Self::$variant => $when, )+)+ }
            }

            /// Which stages say it.
            #[must_use]
            pub const fn stage(self) -> &'static str {
                match self { $($( Self::$variant => $stage, )+)+ }
            }

            /// Whether no stage of ours says it: such an event comes from consumers only.
            #[must_use]
            pub const fn declared_only(self) -> bool {
                match self {
                    $($( Self::$variant => $crate::events::registry::declared_only!($($declared)?), )+)+
                }
            }

            /// The fields of its payload (EVT-24).
            #[must_use]
            pub const fn fields(self) -> &'static [$crate::events::field::FieldInfo] {
                match self {
                    $($(
                        Self::$variant =>
                            <$crate::events::payload::$variant as $crate::events::field::Record>::FIELDS,
                    )+)+
                }
            }

            /// The name an event is recorded under, from its full form.
            ///
            /// ```
            /// use agentfootprint_record::events::EventName;
            /// assert_eq!(EventName::parse("agentfootprint.stream.token"), Some(EventName::StreamToken));
            /// assert_eq!(EventName::parse("stream.token"), None);
            /// ```
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                let (domain, event) = name.strip_prefix("agentfootprint.")?.split_once('.')?;
                match Domain::parse(domain)? {
                    $( Domain::$domain_variant => match event {
                        $( stringify!($event) => Some(Self::$variant), )+
                        _ => None,
                    }, )+
                }
            }
        }

        /// An event: one variant per line of the registry, each holding its payload (EVT-20).
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "events live behind Arc<Event>")]
        pub enum AgentEvent {
            $($(
                #[doc = concat!("`agentfootprint.", stringify!($domain), ".", stringify!($event), "`: ", $when, ".")]
                $variant($crate::events::payload::$variant),
            )+)+
            /// An event outside the registry: read from a newer record, or emitted by a consumer (EVT-16,
            /// EVT-21).
            Unknown($crate::events::UnknownEvent),
        }

        impl AgentEvent {
            /// The registered name; `None` for an event outside the registry.
            #[must_use]
            pub const fn name(&self) -> Option<EventName> {
                match self {
                    $($( Self::$variant(_) => Some(EventName::$variant), )+)+
                    Self::Unknown(_) => None,
                }
            }

            /// The payload as JSON, sharing what can be shared.
            #[must_use]
            pub fn payload(&self) -> ::footprint::value::Value {
                match self {
                    $($( Self::$variant(payload) => $crate::events::field::Field::to_value(payload), )+)+
                    Self::Unknown(event) => event.payload().clone(),
                }
            }

            /// Reads the payload of a registered event.
            ///
            /// # Errors
            /// A [`Misfit`]($crate::events::field::Misfit) naming the first field that does not fit.
            pub fn read(
                name: EventName,
                payload: &::footprint::value::Value,
            ) -> Result<Self, $crate::events::field::Misfit> {
                match name {
                    $($(
                        EventName::$variant =>
                            $crate::events::field::Field::from_value(payload).map(Self::$variant),
                    )+)+
                }
            }
        }

        $($(
            impl From<$crate::events::payload::$variant> for AgentEvent {
                fn from(payload: $crate::events::payload::$variant) -> Self {
                    Self::$variant(payload)
                }
            }

            impl $crate::events::Payload for $crate::events::payload::$variant {
                const NAME: EventName = EventName::$variant;

                fn of(event: &AgentEvent) -> Option<&Self> {
                    match event {
                        AgentEvent::$variant(payload) => Some(payload),
                        _ => None,
                    }
                }
            }
        )+)+
    };
}

macro_rules! declared_only {
    () => {
        false
    };
    (declared) => {
        true
    };
}

pub(crate) use {declared_only, registry};
