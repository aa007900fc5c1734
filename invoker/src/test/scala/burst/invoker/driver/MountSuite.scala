package burst.invoker.driver

class MountSuite extends munit.FunSuite:
  test("mounts are two absolute paths and a mode"):
    assertEquals(Mount.parse("/a:/b"), Right(Mount("/a", "/b", readOnly = false)))
    assertEquals(Mount.parse("/a:/b:rw"), Right(Mount("/a", "/b", readOnly = false)))
    assertEquals(Mount.parse("/a:/b:ro"), Right(Mount("/a", "/b", readOnly = true)))
    for wrong <-
        List("", "/a", "a:/b", "/a:b", "/a:/b:maybe", "/a:/b:ro:x", "/a/../b:/b", "/a:/..", "/./a:/b")
    do assert(Mount.parse(wrong).isLeft, wrong)

  test("an invalid mount is reported with the correct form"):
    assertEquals(
      Mount.parse("/a").left.map(_.sentence),
      Left(
        "'/a' is not a mount: write /host/path:/container/path, without '..', and with :ro or :rw after it"
      )
    )

  test("redundant slashes are removed"):
    assertEquals(Mount.parse("/a//b/:/c/:ro"), Right(Mount("/a/b", "/c", readOnly = true)))
    assertEquals(Mount.parse("/:/"), Right(Mount("/", "/", readOnly = false)))
