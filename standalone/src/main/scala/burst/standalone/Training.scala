package burst.standalone

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.Base64
import java.util.concurrent.atomic.AtomicInteger

/** Calls a platform as its users do, so that its JVM has used the frequently needed classes when it saves
  * them (`save-classes.sh`). Arguments: the platform's URL, and the number of calls; the key is in
  * `BURST_AUTH`. Ends with code 1 and the reason if a call fails.
  */
object Training:
  /** Actions that do nothing, for interpreters that are found on most machines. */
  private val Actions = Vector(
    "python:default" -> "def main(args):\n    return {}\n",
    "nodejs:default" -> "function main() { return {}; }\n"
  )
  private val Clients = 16

  /** One of this many calls is a flare. */
  private val Flares = 2
  private val RequestTimeout = Duration.ofSeconds(60)

  private final case class Refused(message: String) extends RuntimeException(message)

  private final class Target(url: String, key: String):
    private val client = HttpClient.newHttpClient()
    private val authorization = s"Basic ${Base64.getEncoder.encodeToString(key.getBytes(UTF_8))}"

    def store(kind: String, code: String): Unit =
      val body = s"""{"exec":{"kind":"$kind","code":"${code.replace("\n", "\\n")}"}}"""
      send("PUT", "actions/training?overwrite=true", body)

    def call(): Unit = send("POST", "actions/training?blocking=true&result=true", "{}")

    def flare(): Unit =
      send("POST", "bursts/training?blocking=true&result=true", """{"size":1,"params":{}}""")

    private def send(method: String, path: String, body: String): Unit =
      val request = HttpRequest
        .newBuilder(URI(s"$url/api/v1/namespaces/_/$path"))
        .header("Authorization", authorization)
        .header("Content-Type", "application/json")
        .timeout(RequestTimeout)
        .method(method, HttpRequest.BodyPublishers.ofString(body))
        .build()
      val answer = client.send(request, HttpResponse.BodyHandlers.ofString())
      if answer.statusCode != 200 then
        throw Refused(s"$method $path was answered with ${answer.statusCode}: ${answer.body}")

  def main(arguments: Array[String]): Unit = train(arguments(0), sys.env("BURST_AUTH"), arguments(1).toInt)

  /** Throws `Refused`. */
  private[standalone] def train(url: String, key: String, calls: Int): Unit =
    val target = Target(url, key)
    val remaining = AtomicInteger(calls)
    val failure = java.util.concurrent.atomic.AtomicReference[Option[Refused]](None)
    prepare(target)
    def work(): Unit =
      try
        var number = remaining.getAndDecrement()
        while number > 0 && failure.get.isEmpty do
          if number % Flares == 0 then target.flare() else target.call()
          number = remaining.getAndDecrement()
      catch case refused: Refused => failure.set(Some(refused))
    val clients = Vector.fill(Clients)(Thread(() => work()))
    clients.foreach(_.start())
    clients.foreach(_.join())
    failure.get.foreach(throw _)

  /** Stores the action of the first interpreter that works here. */
  private def prepare(target: Target): Unit =
    def works(kind: String, code: String): Boolean =
      try
        target.store(kind, code)
        target.call()
        true
      catch case _: Refused => false
    if !Actions.exists(works(_, _)) then throw Refused("no interpreter runs a function here")
