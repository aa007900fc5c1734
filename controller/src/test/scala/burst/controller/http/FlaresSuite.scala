package burst.controller.http

import burst.controller.store.{addLogs, addPhases, addResults, insert}
import burst.controller.blob.BlobName
import burst.controller.flare.*
import burst.controller.http.FakeFlareService.ended
import burst.controller.scheduler.{CancelOutcome, QueueEstimate, WaitsFor}
import burst.controller.store.Samples
import burst.protocol.{FlareId, JsonText, LogStream, PackId, Timestamp}
import io.circe.parser.parse

class FlaresSuite extends HttpSuite:
  private def stored(flare: Flare): Flare =
    storage.flares.insert(flare)
    flare

  private def json(text: String) = parse(text).fold(e => throw e, identity)

  private val parts = Seq("", "/result", "/logs", "/timeline")

  test("a malformed id is 400, an unknown flare and another namespace's are 404"):
    val foreign = stored(Samples.flare(namespace = "elsewhere"))
    parts.foreach: part =>
      Seq("7", "x" * 32, "0" * 33, "ABCDEF" + "0" * 26).foreach: id =>
        refused(send("GET", s"$flares/$id$part"), 400, "32 lower-case")
      Seq(FlareId.random(), foreign.id).foreach: id =>
        refused(send("GET", s"$flares/${id.value}$part"), 404, id.value)
    refused(send("DELETE", s"$flares/${foreign.id.value}"), 404)
    refused(send("DELETE", s"$flares/xyz"), 400)
    refused(send("GET", s"$flares/${foreign.id.value}/inputs"), 404, "no such path")

  test("a list's parameters are checked, and the refusal names the states"):
    refused(send("GET", s"$flares?state=done"), 400, "'state'", "timed-out")
    refused(send("GET", s"$flares?limit=201"), 400, "'limit'")
    refused(send("GET", s"$flares?skip=x"), 400, "'skip'")

  test("a list shows flares newest first and filtered, without packs and workers"):
    val a = stored(Samples.flare(created = 5000, name = "listed"))
    val b = stored(Samples.flare(created = 6000, name = "listed", state = FlareState.TimedOut))
    stored(Samples.flare(created = 7000, name = "listed", namespace = "elsewhere"))
    def ids(query: String) =
      send(
        "GET",
        s"$flares?name=listed$query"
      ).json.hcursor.values.get.map(_.hcursor.get[FlareId]("flareId").toOption.get).toVector
    assertEquals(ids(""), Vector(b.id, a.id))
    assertEquals(ids("&state=queued"), Vector(a.id))
    assertEquals(ids("&state=timed-out"), Vector(b.id))
    assertEquals(ids("&limit=1&skip=1"), Vector(a.id))
    assertEquals(ids("&state=running"), Vector.empty)
    val keys = send("GET", s"$flares?name=listed").json.hcursor.downArray.keys.get.toSet
    assert(!keys("packs") && !keys("workers"))

  test("a queued flare shows its position in the queue, and no other flare does"):
    val waits = stored(Samples.flare())
    val done = stored(Samples.flare(state = FlareState.Failed))
    service.estimates =
      Map(
        waits.id -> QueueEstimate(3, Right(Timestamp.ofMicros(7000))),
        done.id -> QueueEstimate(1, Left(WaitsFor.Slots))
      )
    def queue(flare: Flare) = send("GET", s"$flares/${flare.id.value}").json.hcursor.downField("queue").focus
    assertEquals(queue(waits), Some(json("""{"position":3,"start":7000,"waitsFor":null,"reason":null}""")))
    assertEquals(queue(done), Some(io.circe.Json.Null))
    service.estimates = Map(waits.id -> QueueEstimate(1, Left(WaitsFor.Slots), Some("few are free")))
    val why = """{"position":1,"start":null,"waitsFor":"slots","reason":"few are free"}"""
    assertEquals(queue(waits), Some(json(why)))

  test("a result is 200 while the flare runs, with an entry for every worker"):
    val f = stored(Samples.flare())
    storage.flares.addResults(f.id, Vector(WorkerResult(1, Some(Output.Inline(JsonText("\"out\""))), None)))
    assertEquals(
      send("GET", s"$flares/${f.id.value}/result").json,
      json(
        s"""{"flareId":"${f.id.value}","state":"queued","error":null,
            "outputs":[{"worker":0},{"worker":1,"output":"out"}]}"""
      )
    )

  test("outputs are shown unchanged, however deep; large ones are read from outside the database"):
    val f = stored(Samples.flare())
    val deep = "[" * 100_000 + "]" * 100_000
    val large = "\"" + "x" * 3_000_000 + "\""
    val spooled =
      java.nio.file.Files.writeString(java.nio.file.Files.createTempFile("burst-output", ""), large)
    storage.blobs.put(f.id, BlobName.output(1), spooled)
    val results =
      Vector(
        WorkerResult(0, Some(Output.Inline(JsonText(deep))), None),
        WorkerResult(1, Some(Output.OutOfLine(1)), None)
      )
    storage.flares.addResults(f.id, results)
    val answer = java.net.URI.create(s"http://127.0.0.1:$port$flares/${f.id.value}/result")
    val request =
      java.net.http.HttpRequest.newBuilder(answer).header("Authorization", basic(credentials)).build()
    val reply = java.net.http.HttpClient
      .newHttpClient()
      .send(request, java.net.http.HttpResponse.BodyHandlers.ofString())
    val head = s"""{"flareId":"${f.id.value}","state":"queued","error":null,"outputs":["""
    assertEquals(reply.body, s"""$head{"worker":0,"output":$deep},{"worker":1,"output":$large}]}""")

  test("a response whose output was deleted breaks off"):
    val f = stored(Samples.flare())
    storage.flares.addResults(f.id, Vector(WorkerResult(0, Some(Output.OutOfLine(5)), None)))
    val raw = RawConnection(port)
    val auth = s"Authorization: ${basic(credentials)}"
    raw.send(s"GET $flares/${f.id.value}/result HTTP/1.1\r\nHost: x\r\n$auth\r\n\r\n")
    val ended = scala.util.Try(raw.rest())
    raw.close()
    // It was reset, or at least ended without the last chunk.
    assert(ended.toOption.forall(!_.endsWith("0\r\n\r\n")), ended)

  test("logs are shown in order, of all workers or one, and report when they are cut"):
    val f = stored(Samples.flare())
    storage.flares.addLogs(
      f.id,
      Vector(
        LogText(Some(1), PackId(0), LogStream.Stdout, Timestamp.ofMicros(7), "one\n\n\u001b\"1"),
        LogText(None, PackId(0), LogStream.Stderr, Timestamp.ofMicros(8), "pack"),
        LogText(Some(0), PackId(0), LogStream.Stdout, Timestamp.ofMicros(9), "zero")
      )
    )
    def lines(query: String) =
      send("GET", s"$flares/${f.id.value}/logs$query").json.hcursor
        .downField("logs")
        .values
        .get
        .map(_.hcursor.get[String]("line").toOption.get)
        .toVector
    assertEquals(lines(""), Vector("one", "", "\u001b\"1", "pack", "zero"))
    assertEquals(lines("?worker=1"), Vector("one", "", "\u001b\"1"))
    assertEquals(lines("?worker=5"), Vector.empty)
    refused(send("GET", s"$flares/${f.id.value}/logs?worker=-1"), 400, "'worker'")
    refused(send("GET", s"$flares/${f.id.value}/logs?worker=x"), 400, "'worker'")
    val next = send("GET", s"$flares/${f.id.value}/logs").json.hcursor.get[Long]("next").toTry.get
    assertEquals(lines("?from=0"), lines(""))
    assertEquals(lines(s"?from=$next"), Vector.empty)
    storage.flares.addLogs(
      f.id,
      Vector(LogText(Some(1), PackId(0), LogStream.Stdout, Timestamp.ofMicros(10), "later"))
    )
    assertEquals(lines(s"?from=$next"), Vector("later"))
    assertEquals(lines(s"?from=$next&worker=0"), Vector.empty)
    // Cleared lines still count, so that a reader of the previous attempt gets all of this one.
    storage.flares.clearAttempt(f.id)
    storage.flares.addLogs(
      f.id,
      Vector(LogText(Some(1), PackId(0), LogStream.Stdout, Timestamp.ofMicros(11), "again"))
    )
    assertEquals(lines(s"?from=$next"), Vector("again"))
    refused(send("GET", s"$flares/${f.id.value}/logs?from=x"), 400, "'from'")
    storage.flares.addLogs(
      f.id,
      Vector(LogText(None, PackId(0), LogStream.Stdout, Timestamp.ofMicros(9), "x" * (11 << 20)))
    )
    assertEquals(
      send("GET", s"$flares/${f.id.value}/logs").json.hcursor.get[Boolean]("truncated"),
      Right(true)
    )

  test("a flare that wrote nothing has a log without lines"):
    val f = stored(Samples.flare())
    assertEquals(
      send("GET", s"$flares/${f.id.value}/logs").body,
      s"""{"flareId":"${f.id.value}","truncated":false,"next":0,"logs":[]}"""
    )

  test("a timeline has the platform's phases and the function's own"):
    val f = stored(ended(FlareState.Succeeded)(Samples.flare()))
    storage.flares.addPhases(f.id, Vector(PhaseMark(0, "read", Timestamp.ofMicros(1050))))
    val timeline = send("GET", s"$flares/${f.id.value}/timeline").json.hcursor
    assert(timeline.get[Long]("now").exists(_ > 1090), "unfinished phases need the current time")
    assertEquals(
      timeline.downField("workers").downArray.focus,
      Some(
        json(
          """{"worker":0,"pack":0,"phases":[
             {"name":"invocation","start":1000,"end":1010},{"name":"start","start":1010,"end":1030},
             {"name":"work","start":1030,"end":1050},{"name":"read","start":1050,"end":1090}]}"""
        )
      )
    )

  test("cancelling is 202 once it is marked, 409 if the flare has ended, 404 if it does not exist"):
    val f = stored(Samples.flare())
    val path = s"$flares/${f.id.value}"
    val accepted = send("DELETE", path)
    assertEquals((accepted.status, accepted.string("flareId")), (202, f.id.value))
    service.cancelling = CancelOutcome.AlreadyEnded
    refused(send("DELETE", path), 409, "ended already")
    service.cancelling = CancelOutcome.NotFound
    refused(send("DELETE", path), 404)
