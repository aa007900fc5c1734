//! The reference for RabbitMQ: a client that only publishes with confirms on one connection and
//! acknowledges on another.

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use std::collections::VecDeque;
use std::time::Instant;

const QUEUE: &str = "bench";
/// The maximum number of unconfirmed bytes.
const AHEAD: usize = 8 << 20;
/// The number of messages that the server sends before it needs an acknowledgement.
const PREFETCH: u16 = 32;

/// Returns GB/s, from the first publish to the last delivery.
pub fn rate(uri: &str, bytes: usize, chunk: usize) -> f64 {
    let chunks = bytes.div_ceil(chunk);
    let (ready, go) = std::sync::mpsc::channel();
    let begun = std::thread::scope(|scope| {
        let consumer = scope.spawn(move || on_a_thread(consume(uri, chunks, ready)));
        go.recv().unwrap();
        let begun = on_a_thread(publish(uri, chunks, chunk));
        consumer.join().unwrap() - begun
    });
    (chunks * chunk) as f64 / 1e9 / begun.as_secs_f64()
}

fn on_a_thread(work: impl Future<Output = lapin::Result<Instant>>) -> Instant {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work).unwrap()
}

async fn channel(uri: &str) -> lapin::Result<(Connection, Channel)> {
    let connection = Connection::connect(uri, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    Ok((connection, channel))
}

async fn publish(uri: &str, chunks: usize, chunk: usize) -> lapin::Result<Instant> {
    let (_connection, channel) = channel(uri).await?;
    channel
        .confirm_select(ConfirmSelectOptions::default())
        .await?;
    let payload = vec![1; chunk];
    let mut confirms = VecDeque::new();
    let begun = Instant::now();
    for _ in 0..chunks {
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let publish = channel.basic_publish("".into(), QUEUE.into(), options, &payload, properties);
        confirms.push_back(publish.await?);
        if confirms.len() * chunk > AHEAD
            && let Some(confirm) = confirms.pop_front()
        {
            confirm.await?;
        }
    }
    for confirm in confirms {
        confirm.await?;
    }
    Ok(begun)
}

async fn consume(
    uri: &str,
    chunks: usize,
    ready: std::sync::mpsc::Sender<()>,
) -> lapin::Result<Instant> {
    let (_connection, channel) = channel(uri).await?;
    let none = FieldTable::default;
    channel
        .queue_declare(QUEUE.into(), QueueDeclareOptions::durable(), none())
        .await?;
    channel
        .basic_qos(PREFETCH, BasicQosOptions::default())
        .await?;
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(QUEUE.into(), "".into(), options, none());
    let mut deliveries = consumer.await?.take(chunks);
    ready.send(()).unwrap();
    while let Some(delivery) = deliveries.next().await {
        delivery?.acker.ack(BasicAckOptions::default()).await?;
    }
    let done = Instant::now();
    channel
        .queue_delete(QUEUE.into(), QueueDeleteOptions::default())
        .await?;
    Ok(done)
}
