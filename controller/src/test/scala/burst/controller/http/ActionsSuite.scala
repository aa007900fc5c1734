package burst.controller.http

import burst.controller.deploy.Executables.{elf, zip}
import burst.controller.deploy.Tars.{entry as tarred, tgz, unzipped}
import io.circe.Json
import io.circe.parser.parse
import java.util.Base64

class ActionsSuite extends EntitySuite:
  test("source is stored as text and read back with every character intact"):
    val large = python + "# " + "é\"\\\n\u0001x" * 100_000
    for text <- Seq(python, large) do
      val stored = store("actions/text", source("python:default", text))
      assertEquals(at(stored, "exec", "kind").asString, Some("python:3.10"))
      val found = send("GET", s"$here/actions/text")
      assertEquals(at(found, "exec", "code").asString, Some(text))
      assertEquals(at(found, "exec", "binary"), Json.False)
    val definition = storage.definitions.find("guest", "text").getOrElse(fail("no definition"))
    val bytes = storage.packages.read(definition.packageId, 0, Int.MaxValue)
    assertEquals(bytes.map(String(_, "UTF-8")), Some(large))
    assertEquals(definition.ref.kind, "python:3.10")

  test("code that looks like base64 is a file, even if its JSON text uses escapes"):
    val file = zip("__main__.py" -> python.getBytes, "lib/a.py" -> Array[Byte](1))
    val text = code(file)
    val escaped = text.replace("/", "\\/").patch(0, f"\\u${text.head.toInt}%04x", 1)
    for written <- Seq(text, s" $text\\n", escaped) do
      store("actions/file", Some(s"""{"exec":{"kind":"python:3","code":"$written","main":"go"}}"""))
      val found = send("GET", s"$here/actions/file")
      assertEquals(at(found, "exec", "code").asString, Some(text))
      assertEquals(at(found, "exec", "binary"), Json.True)
      assertEquals(at(found, "exec", "main").asString, Some("go"))
    val large = zip("__main__.py" -> python.getBytes, "x" -> scala.util.Random(7).nextBytes(400_001))
    store("actions/file", source("python", code(large)))
    assertEquals(at(send("GET", s"$here/actions/file"), "exec", "code").asString, Some(code(large)))

  test("a tar packed by npm is stored as a zip of its directory's contents, for Node only"):
    val main = "exports.main = () => ({})".getBytes
    val packed = tgz(tarred("package/package.json", "{}".getBytes), tarred("package/index.js", main))
    val stored = store("actions/npm", source("nodejs:default", code(packed)))
    val kept = at(stored, "exec", "code").asString.map(Base64.getDecoder.decode(_)).getOrElse(fail("no code"))
    assertEquals(unzipped(kept), Vector("package.json" -> "{}", "index.js" -> String(main)))
    assertEquals(at(stored, "exec", "binary"), Json.True)
    assertEquals(send("GET", s"$here/actions/npm").json, stored.json)
    val definition = storage.definitions.find("guest", "npm").getOrElse(fail("no definition"))
    val bytes = storage.packages.read(definition.packageId, 0, Int.MaxValue)
    assertEquals(bytes.map(_.toVector), Some(kept.toVector))
    assertEquals(definition.packageSize.toLong, kept.length.toLong)
    assertEquals(
      send("GET", s"$bursts/npm").json.hcursor.downField("exec").get[Long]("size"),
      Right(kept.length.toLong)
    )
    // Our own API accepts it as well.
    val exec = s"""{"exec":{"kind":"nodejs:20","code":"${code(packed)}"}}"""
    val native = send("PUT", s"$bursts/npm?overwrite=true", Some(exec))
    assertEquals(
      native.json.hcursor.downField("exec").get[String]("package"),
      Right(definition.packageId.value),
      native.body
    )
    def put(kind: String, tar: Array[Byte]) = send("PUT", s"$here/actions/bad", source(kind, code(tar)))
    refused(put("python:3", packed), 400, "neither a zip nor", "for Node also a tar.gz")
    refused(put("nodejs", packed.dropRight(9)), 400, "damaged tar.gz", "cut off", "pack it again")
    refused(put("nodejs", tgz(tarred("main.js"))), 400, "'package.json' or 'index.js'")
    refused(put("nodejs", tgz(tarred("index.js"), tarred("../x"))), 400, "path")
    refused(put("nodejs", tgz(tarred("index.js"), tarred("x", kind = '2'))), 400, "link or device")

  test("a zip made from a tar may have no more bytes than a package"):
    val small = send("PUT", s"$admin/small", Some("""{"limits":{"packageSize":20000}}"""), caller(admin))
    val noise = scala.util.Random(7).nextBytes(9000)
    def put(files: Int) =
      val tar = tgz(tarred("index.js") +: Vector.tabulate(files)(i => tarred(s"f$i", noise))*)
      assert(tar.length < 12_000, tar.length)
      send("PUT", s"$here/actions/alike", source("nodejs", code(tar)), Some(small.string("auth")))
    refused(put(3), 400, "kept as a zip", "20000 bytes")
    assertEquals(put(2).status, 200)

  test("an action is shown in OpenWhisk's form, with and without its code"):
    val body = source(
      "nodejs:default",
      "function main() { return {} }",
      ""","limits":{"timeout":1000,"memory":256,"logs":5,"concurrency":10},"parameters":[{"key":"a","value":1},
        {"key":"S","value":"x","init":true}],"annotations":[{"key":"web-export","value":true}],
        "publish":false,"name":"else","namespace":"_","unknown":{}"""
    )
    val created = store("actions/shape", body)
    val expected = s"""{"namespace":"guest","name":"shape","version":"0.0.1","publish":false,
      "annotations":[{"key":"provide-api-key","value":false},{"key":"web-export","value":true},
      {"key":"exec","value":"nodejs:20"}],
      "limits":{"timeout":1000,"memory":256,"logs":5,"concurrency":10},
      "parameters":[{"key":"a","value":1},{"key":"S","value":"x","init":true}],
      "exec":{"kind":"nodejs:20","binary":false,"code":"function main() { return {} }"}}"""
    assertEquals(Right(created.json.mapObject(_.remove("updated"))), parse(expected))
    val told = storage.definitions.find("guest", "shape").map(_.ref)
    assertEquals(told.map(ref => (ref.concurrency, ref.logs)), Some((10, 5)))
    assertEquals(send("GET", s"$here/actions/shape").json, created.json)
    val bare = send("GET", s"$guest/actions/shape?code=False")
    assertEquals(bare.json.hcursor.downField("exec").keys.map(_.toSet), Some(Set("kind", "binary")))
    val updated = at(bare, "updated").asNumber.flatMap(_.toLong).getOrElse(0L)
    assert((System.currentTimeMillis - updated).abs < 3_600_000, "the time is in milliseconds")
    val native = send("GET", s"$bursts/shape").json.hcursor
    assertEquals(native.downField("exec").get[String]("kind"), Right("nodejs:20"))

  test("a limit on the number of an action's containers is accepted and ignored"):
    val stored = store("actions/many", source("python", python, ""","limits":{"instances":3,"logs":2}"""))
    assertEquals(
      at(stored, "limits").hcursor.keys.map(_.toSet),
      Some(Set("timeout", "memory", "logs", "concurrency"))
    )
    assertEquals(at(stored, "limits", "logs"), Json.fromInt(2))

  test("an update keeps the fields it does not name"):
    val first = source(
      "python:3.11",
      python,
      ""","limits":{"memory":512},"parameters":[{"key":"a","value":1}],
        "annotations":[{"key":"x","value":1},{"key":"y","value":2}],"publish":true"""
    )
    store("actions/kept", first)
    val second =
      store("actions/kept", Some("""{"limits":{"timeout":2000},"annotations":[{"key":"y","value":3}]}"""))
    assertEquals(second.string("version"), "0.0.2")
    assertEquals(at(second, "limits", "memory"), Json.fromInt(512))
    assertEquals(at(second, "limits", "timeout"), Json.fromInt(2000))
    assertEquals(at(second, "exec", "code").asString, Some(python))
    assertEquals(at(second, "publish"), Json.True)
    assertEquals(pair(second, "parameters", "a"), Some(Json.fromInt(1)))
    assertEquals(pair(second, "annotations", "x"), Some(Json.fromInt(1)))
    assertEquals(pair(second, "annotations", "y"), Some(Json.fromInt(3)))
    assertEquals(pair(second, "annotations", "exec"), Some(Json.fromString("python:3.11")))
    val third = store(
      "actions/kept",
      Some("""{"parameters":[],"delAnnotations":["x"],"version":"2.0.0"}""")
    )
    assertEquals(at(third, "parameters"), Json.arr())
    assertEquals(pair(third, "annotations", "x"), None)
    assertEquals(third.string("version"), "2.0.0")
    assertEquals(store("actions/kept", Some("")).string("version"), "2.0.1")
    assertEquals(send("GET", s"$bursts/kept").string("version"), "0.0.4")

  test("our own API deploys over an action and keeps what only an action has"):
    store("actions/both", source("python", python, ""","annotations":[{"key":"web-export","value":true}]"""))
    assertEquals(deploy("both").string("version"), "0.0.2")
    val found = send("GET", s"$here/actions/both?code=false")
    assertEquals(at(found, "exec"), Json.obj("kind" -> Json.fromString("rust"), "binary" -> Json.True))
    assertEquals(pair(found, "annotations", "web-export"), Some(Json.True))
    deploy("native", ""","parameters":{"a":1}""")
    val native = send("GET", s"$here/actions/native?code=false")
    assertEquals(pair(native, "parameters", "a"), Some(Json.fromInt(1)))
    assertEquals(pair(native, "annotations", "exec"), Some(Json.fromString("rust")))

  test("our own API serves an action of a package by the package's name and its own"):
    store("packages/np", Some("{}"))
    store("actions/np/one", source("python", python))
    store("actions/np/one", source("python", python + "#"))
    val found = send("GET", s"$bursts/np%2Fone")
    assertEquals((found.status, found.string("name")), (200, "np/one"))
    assertEquals(send("POST", s"$bursts/np%2Fone/rollback", Some("{}")).string("version"), "0.0.3")
    assertEquals(send("GET", s"$flares?name=np%2Fone").status, 200)
    assertEquals(send("DELETE", s"$bursts/np%2Fone").status, 200)
    refused(send("GET", s"$here/actions/np/one"), 404)
    refused(send("PUT", s"$bursts/nothing%2Fone", deployment()), 404, "package 'nothing'")

  test("a flare gets init parameters in its environment, and not in its inputs"):
    val parameters = ""","parameters":[{"key":"a","value":1},{"key":"TOKEN","value":"t","init":true},
      {"key":"N","value":[1],"init":true},{"key":"no name","value":1,"init":true}]"""
    store("actions/started", source("python", python, parameters))
    assertEquals(send("POST", s"$bursts/started", Some("""{"size":1}""")).status, 202)
    val request = service.last.get.getOrElse(fail("nothing was submitted"))
    assertEquals(request.inputs.text.utf8String, """{"shared":{"a":1}}""")
    assertEquals(request.environment.variables, Map("TOKEN" -> "t", "N" -> "[1]", "no name" -> "1"))

  test("a flare of a sequence is refused"):
    store("actions/part", source("python", python))
    store("actions/parts", sequence("/_/part"))
    refused(send("POST", s"$bursts/parts", Some("""{"size":1}""")), 400, "is a sequence")
    refused(send("POST", groups, Some("""{"definition":"parts","size":1}""")), 400, "is a sequence")

  test("a name that is taken is 409 unless it is to be overwritten"):
    store("actions/taken", source("python", python))
    refused(send("PUT", s"$here/actions/taken", source("python", python)), 409, "resource already exists")
    refused(send("PUT", s"$here/actions/taken?overwrite=False", source("python", python)), 409)
    assertEquals(send("PUT", s"$here/actions/taken?overwrite=True", source("python", python)).status, 200)

  test("deleting an action returns it as it was, and it no longer exists"):
    store("actions/gone", source("python", python))
    assertEquals(send("DELETE", s"$here/actions/gone").string("name"), "gone")
    refused(send("DELETE", s"$here/actions/gone"), 404, "does not exist", "'gone'")
    refused(send("GET", s"$here/actions/gone"), 404, "The requested resource does not exist")

  test("an invalid action is refused with what to do about it"):
    def put(body: String) = send("PUT", s"$here/actions/bad", Some(body))
    refused(put("{}"), 400, "'exec'")
    refused(put(""), 400, "'exec'")
    refused(put("[]"), 400, "must be a JSON object")
    refused(put("""{"exec":[]}"""), 400, "'exec' must be an object")
    refused(put("""{"exec":{"code":"x"}}"""), 400, "'exec.kind' is missing", "python:default", "sequence")
    refused(put("""{"exec":{"kind":"cobol:1","code":"x"}}"""), 400, "'cobol:1'", "nodejs:20")
    refused(put("""{"exec":{"kind":"python:2.1","code":"x"}}"""), 400, "'python:2.1'")
    refused(put("""{"exec":{"kind":7,"code":"x"}}"""), 400, "'exec.kind' must be a string")
    refused(put("""{"exec":{"kind":"python"}}"""), 400, "'exec.code' is missing")
    refused(put("""{"exec":{"kind":"python","code":""}}"""), 400, "empty")
    refused(put("""{"exec":{"kind":"python","code":7}}"""), 400, "'exec.code' must be a string")
    refused(put("""{"exec":{"kind":"python","code":"QUJD"}}"""), 400, "neither a zip nor")
    refused(put("""{"exec":{"kind":"rust","code":"fn main() {}"}}"""), 400, "neither a zip nor")
    refused(put("""{"exec":{"kind":"blackbox"}}"""), 400, "'exec.image' is missing")
    refused(put("""{"exec":{"kind":"blackbox","image":"a b"}}"""), 400, "'exec.image'")
    def zipped(kind: String, entries: (String, Array[Byte])*) = put(source(kind, code(zip(entries*))).get)
    refused(zipped("python", "main.py" -> Array(1)), 400, "'__main__.py' or 'exec'")
    refused(zipped("nodejs", "main.js" -> Array(1)), 400, "'package.json' or 'index.js'")
    refused(zipped("python", "__main__.py" -> Array(1), "../x" -> Array(1)), 400, "path")
    refused(zipped("blackbox", "x" -> Array(1)), 400, "'exec.image'")
    def more(text: String) = put(source("python", python, s",$text").get)
    refused(more(""""parameters":{}"""), 400, "'parameters' must be an array", "'key'")
    refused(more(""""parameters":[{"value":1}]"""), 400, "'parameters'")
    refused(more(""""annotations":["a"]"""), 400, "'annotations'")
    refused(more(""""delAnnotations":[1]"""), 400, "'delAnnotations'")
    refused(more(""""version":"1""""), 400, "'version'", "1.0.2")
    refused(more(""""publish":"yes""""), 400, "'publish'")
    refused(more(""""limits":{"timeout":99}"""), 400, "'limits.timeout' is 99", "100 to 900000")
    refused(more(""""limits":{"timeout":900001}"""), 400, "900001")
    refused(more(""""limits":{"memory":64}"""), 400, "'limits.memory' is 64", "128")
    refused(more(""""limits":{"logs":11}"""), 400, "'limits.logs' is 11", "0 to 10")
    refused(more(""""limits":{"memory":"256"}"""), 400, "\"256\"")
    refused(more(""""limits":{"concurrency":2}"""), 400, "one call at a time")
    refused(
      more(s""""parameters":[{"key":"a","value":"${"x" * (1 << 20)}"}]"""),
      413,
      "'parameters'",
      "1048576"
    )
    refused(more(s""""annotations":[{"key":"a","value":"${"x" * (1 << 16)}"}]"""), 413, "'annotations'")
    refused(more(s""""parameters":[{"key":"a","value":[${"1," * 100_000}1]}]"""), 400, "100000 values")
    refused(send("PUT", s"$here/actions/-bad", source("python", python)), 400, "A name has")
    refused(send("GET", s"$here/actions/bad?code=2"), 400, "'code'")
    refused(send("GET", s"$here/actions/bad"), 404)

  test("executables of OpenWhisk's kinds, and images, are accepted"):
    store("actions/loop", source("python", binary))
    store("actions/bare", source("nodejs:18", code(elf())))
    store("actions/native", source("rust:1.34", binary))
    store("actions/go", source("go:default", code(elf())))
    refused(send("PUT", s"$here/actions/gosource", source("go", "package main")), 400, "executable")
    val image = """{"exec":{"kind":"blackbox","image":"openwhisk/example","code":"QUJD"}}"""
    assertEquals(at(store("actions/image", Some(image)), "exec", "image").asString, Some("openwhisk/example"))
    def run(name: String) =
      storage.definitions.find("guest", name).map(found => (found.ref.kind, found.ref.image))
    assertEquals(run("image"), Some(("blackbox", Some("openwhisk/example"))))
    val native = """{"exec":{"kind":"blackbox","image":"openwhisk/dockerskeleton:1","code":"QUJD"}}"""
    store("actions/skeleton", Some(native))
    assertEquals(run("skeleton"), Some(("skeleton", None)))
    assertEquals(
      at(store("actions/alone", Some("""{"exec":{"kind":"blackbox","image":"a/b:1"}}""")), "exec", "binary"),
      Json.False
    )

  test("lists are newest first, paged and counted"):
    send("GET", s"$here/actions").json.asArray.toSeq.flatten.foreach: found =>
      send("DELETE", s"$here/actions/${found.hcursor.get[String]("name").getOrElse("")}")
    store("packages/lp", Some("{}"))
    for name <- Seq("l1", "l2", "l3") do
      store(s"actions/$name", source("python", python))
      nextMoment()
    store("actions/lp/l4", source("python", python))
    val all = send("GET", s"$here/actions")
    assertEquals(names(all), Vector("l4", "l3", "l2", "l1"))
    val first = all.json.asArray.flatMap(_.headOption).getOrElse(fail("the list is empty"))
    assertEquals(first.hcursor.get[String]("namespace"), Right("guest/lp"))
    assertEquals(first.hcursor.downField("exec").keys.map(_.toSeq), Some(Seq("binary")))
    assertEquals(
      first.asObject.map(_.keys.toSet),
      Some(Set("namespace", "name", "version", "publish", "annotations", "limits", "exec", "updated"))
    )
    assertEquals(names(send("GET", s"$here/actions/?limit=2&skip=1")), Vector("l3", "l2"))
    assertEquals(names(send("GET", s"$here/actions?limit=0")).size, 4)
    assertEquals(send("GET", s"$here/actions?count=true").body, """{"actions":4}""")
    assertEquals(names(send("GET", s"$here/actions/lp/")), Vector("l4"))
    assertEquals(send("GET", s"$here/actions/lp/?count=true").body, """{"actions":1}""")
    refused(send("GET", s"$here/actions?limit=201"), 400, "'limit'", "200")
    refused(send("GET", s"$here/actions?skip=-1"), 400, "'skip'")
    refused(send("GET", s"$here/actions?count=maybe"), 400, "'count'")
    refused(send("GET", s"$here/actions/none/"), 404, "package 'none'")
    assertEquals(send("GET", s"$here/actions?docs=true&public=maybe&name=x").status, 200)
